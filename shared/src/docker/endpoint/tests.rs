use std::fs;
use std::os::unix::net::UnixListener;

use tempfile::TempDir;

use super::*;
use crate::docker::context::context_id;
use crate::error::Explain;
use crate::exit::Exit;

/// A machine with a home folder and system sockets of its own.
struct Machine {
    folder: TempDir,
    listening: Vec<UnixListener>,
}

impl Machine {
    fn new() -> Machine {
        Machine {
            folder: TempDir::new().unwrap(),
            listening: Vec::new(),
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn file(self, path: &str, content: &str) -> Machine {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    fn listens(mut self, path: &str) -> Machine {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        self.listening.push(UnixListener::bind(path).unwrap());
        self
    }

    fn left_behind(self, path: &str) -> Machine {
        let mut machine = self.listens(path);
        machine.listening.pop();
        machine
    }

    fn context(self, name: &str, endpoint: &str) -> Machine {
        let id = context_id(name);
        let meta =
            format!(r#"{{"Name":"{name}","Metadata":{{}},"Endpoints":{{"docker":{endpoint}}}}}"#);
        self.file(&format!("home/.docker/contexts/meta/{id}/meta.json"), &meta)
    }

    fn current(self, name: &str) -> Machine {
        self.file(
            "home/.docker/config.json",
            &format!(r#"{{"auths":{{}},"currentContext":"{name}"}}"#),
        )
    }

    fn locate(
        &self,
        choice: &DockerChoice,
        variables: &[(&str, &str)],
    ) -> Result<Located, DockerError> {
        let home = self.path("home");
        let home = home.to_str().unwrap();
        let env = match variables {
            [] => Env::of([("HOME", home)]),
            [one] => Env::of([("HOME", home), *one]),
            [one, two] => Env::of([("HOME", home), *one, *two]),
            _ => unreachable!("no test sets more"),
        };
        locate_under(&self.path("root"), choice, &env)
    }

    /// The address found and what led to it, without the folder of the test.
    fn found(&self, choice: &DockerChoice, variables: &[(&str, &str)]) -> String {
        let located = self.locate(choice, variables).unwrap();
        self.relative(&format!("{} by {}", located.endpoint, located.by))
    }

    fn relative(&self, text: &str) -> String {
        text.replace(self.folder.path().to_str().unwrap(), "")
    }
}

fn host(address: &str) -> DockerChoice {
    DockerChoice::Host(address.to_owned())
}

fn context(name: &str) -> DockerChoice {
    DockerChoice::Context(name.to_owned())
}

#[test]
fn a_context_is_filed_under_the_digest_of_its_name() {
    assert_eq!(
        context_id("colima"),
        "f24fd3749c1368328e2b149bec149cb6795619f244c5b584e844961215dadd16"
    );
}

#[test]
fn the_nearest_word_wins() {
    let machine = Machine::new()
        .context("colima", r#"{"Host":"unix:///colima.sock"}"#)
        .context("remote", r#"{"Host":"ssh://me@far:2222"}"#)
        .current("colima")
        .listens("root/var/run/docker.sock");
    let flag = host("tcp://10.0.0.9:2375");
    let docker_host = ("DOCKER_HOST", "unix:///variable.sock");
    let docker_context = ("DOCKER_CONTEXT", "remote");
    let both = [docker_host, docker_context];
    let cases = [
        (
            machine.found(&flag, &both),
            "tcp://10.0.0.9:2375 by --docker-host",
        ),
        (
            machine.found(&context("remote"), &both),
            "ssh://me@far:2222 by --docker-context remote",
        ),
        (
            machine.found(&DockerChoice::Found, &both),
            "unix:///variable.sock by DOCKER_HOST",
        ),
        (
            machine.found(&DockerChoice::Found, &[docker_context]),
            "ssh://me@far:2222 by DOCKER_CONTEXT=remote",
        ),
        (
            machine.found(&DockerChoice::Found, &[]),
            "unix:///colima.sock by current docker context colima",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn the_default_context_is_the_variable_else_the_default_socket() {
    let machine = Machine::new()
        .current("default")
        .listens("home/.colima/default/docker.sock");
    let variable = [("DOCKER_HOST", "unix:///variable.sock")];
    let cases = [
        (
            machine.found(&context("default"), &variable),
            "unix:///variable.sock by DOCKER_HOST",
        ),
        (
            machine.found(&context("default"), &[]),
            "unix:///root/var/run/docker.sock by --docker-context default",
        ),
        (
            machine.found(&DockerChoice::Found, &[("DOCKER_CONTEXT", "default")]),
            "unix:///root/var/run/docker.sock by DOCKER_CONTEXT=default",
        ),
        (
            machine.found(&DockerChoice::Found, &[]),
            "unix:///home/.colima/default/docker.sock by Colima",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn looks_at_the_known_sockets_when_nothing_is_set() {
    let cases = [
        ("root/var/run/docker.sock", "default socket"),
        ("home/.docker/run/docker.sock", "Docker Desktop"),
        ("home/.docker/desktop/docker.sock", "Docker Desktop"),
        ("home/.colima/default/docker.sock", "Colima"),
        ("home/.colima/docker.sock", "Colima"),
        ("home/.config/colima/default/docker.sock", "Colima"),
        ("home/.orbstack/run/docker.sock", "OrbStack"),
        ("home/.rd/docker.sock", "Rancher Desktop"),
        ("home/.lima/docker/sock/docker.sock", "Lima"),
        (
            "home/.local/share/containers/podman/machine/podman.sock",
            "Podman",
        ),
        ("root/run/podman/podman.sock", "Podman"),
    ];
    for (socket, by) in cases {
        let machine = Machine::new().listens(socket);
        let found = machine.found(&DockerChoice::Found, &[]);
        assert_eq!(found, format!("unix:///{socket} by {by}"));
    }
}

#[test]
fn looks_where_the_environment_moves_the_known_sockets() {
    let cases = [
        (
            "COLIMA_HOME",
            "moved",
            "moved/default/docker.sock",
            "Colima",
        ),
        (
            "XDG_CONFIG_HOME",
            "conf",
            "conf/colima/default/docker.sock",
            "Colima",
        ),
        (
            "XDG_RUNTIME_DIR",
            "user",
            "user/docker.sock",
            "rootless Docker",
        ),
        (
            "XDG_RUNTIME_DIR",
            "user",
            "user/podman/podman.sock",
            "Podman",
        ),
    ];
    for (variable, value, socket, by) in cases {
        let machine = Machine::new().listens(socket);
        let value = machine.path(value);
        let found = machine.found(&DockerChoice::Found, &[(variable, value.to_str().unwrap())]);
        assert_eq!(found, format!("unix:///{socket} by {by}"), "{variable}");
    }
    let machine = Machine::new().listens("home/.colima/work/docker.sock");
    let found = machine.found(&DockerChoice::Found, &[("COLIMA_PROFILE", "work")]);
    assert_eq!(found, "unix:///home/.colima/work/docker.sock by Colima");
}

#[test]
fn a_socket_that_somebody_listens_at_wins_over_one_left_behind() {
    let machine = Machine::new()
        .left_behind("root/var/run/docker.sock")
        .listens("home/.colima/default/docker.sock");
    assert_eq!(
        machine.found(&DockerChoice::Found, &[]),
        "unix:///home/.colima/default/docker.sock by Colima"
    );
}

#[test]
fn a_socket_left_behind_is_the_answer_when_nobody_listens_anywhere() {
    let machine = Machine::new().left_behind("home/.colima/default/docker.sock");
    let located = machine.locate(&DockerChoice::Found, &[]).unwrap();
    assert_eq!(located.by, LocatedBy::KnownSocket(KnownSocket::Colima));
    assert_eq!(
        machine.relative(&located.tried[0]),
        "/root/var/run/docker.sock"
    );
}

#[test]
fn says_where_it_looked_when_there_is_no_daemon() {
    let machine = Machine::new();
    let error = machine.locate(&DockerChoice::Found, &[]).unwrap_err();
    let text = machine.relative(&error.to_string());
    assert_eq!(
        text,
        "no Docker daemon found; tried /root/var/run/docker.sock, ~/.docker/run/docker.sock, \
         ~/.docker/desktop/docker.sock, ~/.colima/default/docker.sock, ~/.colima/docker/docker.sock, \
         ~/.colima/docker.sock, ~/.config/colima/default/docker.sock, ~/.config/colima/docker/docker.sock, \
         ~/.config/colima/docker.sock, ~/.orbstack/run/docker.sock, ~/.rd/docker.sock, \
         ~/.lima/docker/sock/docker.sock, ~/.lima/default/sock/docker.sock, \
         ~/.local/share/containers/podman/machine/podman.sock, /root/run/podman/podman.sock"
    );
    assert_eq!(error.exit(), Exit::Unknown);
}

#[test]
fn finds_the_default_socket_without_a_home_folder() {
    let machine = Machine::new().listens("root/var/run/docker.sock");
    let located = locate_under(&machine.path("root"), &DockerChoice::Found, &Env::default());
    assert_eq!(located.unwrap().by, LocatedBy::DefaultSocket);
}

#[test]
fn reads_contexts_where_docker_config_says() {
    let machine = Machine::new().file("elsewhere/config.json", r#"{"currentContext":"colima"}"#);
    let folder = machine.path("elsewhere");
    let variables = [("DOCKER_CONFIG", folder.to_str().unwrap())];
    let error = machine
        .locate(&DockerChoice::Found, &variables)
        .unwrap_err();
    assert!(
        machine
            .relative(&error.to_string())
            .contains("/elsewhere/contexts/meta/"),
        "{error}"
    );
}

#[test]
fn names_the_contexts_that_there_are_when_one_is_unknown() {
    let machine = Machine::new()
        .context("orbstack", r#"{"Host":"unix:///o.sock"}"#)
        .context("colima", r#"{"Host":"unix:///c.sock"}"#)
        .file("home/.docker/contexts/meta/broken/meta.json", "{");
    let error = machine.locate(&context("nope"), &[]).unwrap_err();
    assert_eq!(
        machine.relative(&error.to_string()),
        format!(
            "context \"nope\": context not found: open /home/.docker/contexts/meta/{}/meta.json: \
             no such file or directory (--docker-context nope)",
            context_id("nope")
        )
    );
    assert_eq!(
        error.hint().unwrap(),
        "choose one with --docker-context: colima, orbstack"
    );
    assert_eq!(error.exit(), Exit::Usage);
    let current = Machine::new().current("nope");
    let error = current.locate(&DockerChoice::Found, &[]).unwrap_err();
    assert_eq!(error.exit(), Exit::Unknown);
    assert_eq!(error.hint().unwrap(), "docker context ls");
}

#[test]
fn a_context_speaks_tls_with_the_files_that_it_has() {
    let address = r#"{"Host":"tcp://far:2376","SkipTLSVerify":false}"#;
    let skipping = r#"{"Host":"tcp://far:2376","SkipTLSVerify":true}"#;
    let tls = |machine: &Machine| match machine.locate(&context("far"), &[]).unwrap().endpoint {
        Endpoint::Tcp { tls, .. } => tls,
        other => panic!("{other}"),
    };
    let folder = format!("home/.docker/contexts/tls/{}/docker", context_id("far"));

    let plain = Machine::new().context("far", address);
    assert_eq!(tls(&plain), None);

    let only_ca = Machine::new()
        .context("far", address)
        .file(&format!("{folder}/ca.pem"), "");
    let ca = Some(only_ca.path(&format!("{folder}/ca.pem")));
    let expected = TlsFiles {
        ca,
        client: None,
        server: ServerCheck::Verify,
    };
    assert_eq!(tls(&only_ca), Some(expected));

    let client = Machine::new()
        .context("far", skipping)
        .file(&format!("{folder}/cert.pem"), "")
        .file(&format!("{folder}/key.pem"), "");
    let expected = TlsFiles {
        ca: None,
        client: Some(ClientFiles {
            certificate: client.path(&format!("{folder}/cert.pem")),
            key: client.path(&format!("{folder}/key.pem")),
        }),
        server: ServerCheck::Skip,
    };
    assert_eq!(tls(&client), Some(expected));
}

#[test]
fn a_context_without_address_is_the_default_socket() {
    let machine = Machine::new().context("bare", "{}");
    let located = machine.locate(&context("bare"), &[]).unwrap();
    assert_eq!(located.endpoint.to_string(), "unix:///var/run/docker.sock");
}

#[test]
fn a_context_of_something_else_is_an_error() {
    let machine = Machine::new().context("cluster", "null");
    let error = machine.locate(&context("cluster"), &[]).unwrap_err();
    let text = machine.relative(&error.to_string());
    assert!(
        text.starts_with("context \"cluster\" has no docker endpoint in /home/"),
        "{text}"
    );
}

#[test]
fn a_corrupt_configuration_is_an_error_that_names_the_file_and_nothing_in_it() {
    let machine = Machine::new().file(
        "home/.docker/config.json",
        "{\"auths\": {\"registry\": {\"auth\": \"c2VjcmV0\"}},\n \"currentContext\": 7}",
    );
    let error = machine.locate(&DockerChoice::Found, &[]).unwrap_err();
    assert_eq!(
        machine.relative(&error.to_string()),
        "/home/.docker/config.json is not a valid docker configuration (line 2, column 20)"
    );
    // What is not needed is not read.
    assert!(machine.locate(&host("unix:///d.sock"), &[]).is_ok());
    assert!(
        machine
            .locate(&DockerChoice::Found, &[("DOCKER_HOST", "unix:///d.sock")])
            .is_ok()
    );
}

#[test]
fn a_configuration_that_cannot_be_read_is_an_error() {
    let machine = Machine::new().file("home/.docker/config.json/in-the-way", "");
    let error = machine.locate(&DockerChoice::Found, &[]).unwrap_err();
    assert_eq!(
        machine.relative(&error.to_string()),
        "cannot read /home/.docker/config.json"
    );
}

#[test]
fn an_address_that_cannot_be_used_says_where_it_is_from() {
    let machine = Machine::new().context("far", r#"{"Host":"npipe:////./pipe/docker_engine"}"#);
    let cases = [
        (
            machine.locate(&host("ftp://x"), &[]),
            "cannot use the Docker address \"ftp://x\" (--docker-host)",
            Exit::Usage,
        ),
        (
            machine.locate(&DockerChoice::Found, &[("DOCKER_HOST", "unix://d.sock")]),
            "cannot use the Docker address \"unix://d.sock\" (DOCKER_HOST)",
            Exit::Unknown,
        ),
        (
            machine.locate(&context("far"), &[]),
            "cannot use the Docker address \"npipe:////./pipe/docker_engine\" (--docker-context far)",
            Exit::Usage,
        ),
    ];
    for (located, expected, exit) in cases {
        let error = located.unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.exit(), exit, "{expected}");
    }
}
