//! A folder of certificates, made by openssl.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use karmada_repair::finding::Severity;
use kubectl_karmada_check_certs::config::Config;
use kubectl_karmada_check_certs::diagnose::diagnose;
use kubectl_karmada_check_certs::observed::Observed;
use kubectl_karmada_check_certs::sources::files;
use kubectl_karmada_check_certs::threshold::{Threshold, Thresholds};
use tempfile::TempDir;

use crate::openssl;

/// A folder that goes with the test.
pub(crate) struct Folder {
    folder: TempDir,
}

/// How a certificate is made.
#[derive(Clone, Copy)]
pub(crate) struct Made<'a> {
    /// Its name: `NAME.crt`, `NAME.key`.
    pub(crate) name: &'a str,
    /// What `openssl genpkey` is told.
    pub(crate) key: &'a str,
    /// The subject, as `/CN=x`.
    pub(crate) subject: &'a str,
    /// Lines of the extensions section; empty = version 1.
    pub(crate) extensions: &'a [&'a str],
    /// The name of the authority; `None` = self-signed.
    pub(crate) by: Option<&'a str>,
    /// What `openssl x509 -req` is told beside, as `-days 10 -sha1`.
    pub(crate) with: &'a str,
}

pub(crate) const P256: &str = "-algorithm EC -pkeyopt ec_paramgen_curve:P-256";
pub(crate) const CA: &[&str] = &[
    "basicConstraints=critical,CA:TRUE",
    "keyUsage=critical,keyCertSign,cRLSign",
];

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder {
            folder: TempDir::new().expect("there is room for a folder"),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn openssl(&self, words: &str) {
        openssl::run(self.path(), words);
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.file(name), content).expect("the folder can be written");
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.file(name)).expect("the file was made before")
    }

    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.file(name)).expect("the file was made before");
    }

    pub(crate) fn join(&self, to: &str, from: &[&str]) {
        let content: Vec<u8> = from.iter().flat_map(|name| self.read(name)).collect();
        self.write(to, content);
    }

    /// A CA `ca`, valid for ten years.
    pub(crate) fn ca(&self) {
        self.make(Made {
            name: "ca",
            key: P256,
            subject: "/CN=ca",
            extensions: CA,
            by: None,
            with: "-days 3650",
        });
    }

    /// A leaf `leaf` of `ca`, valid for 300 days, with these extensions.
    pub(crate) fn leaf(&self, extensions: &[&str]) {
        self.make(Made {
            name: "leaf",
            key: P256,
            subject: "/CN=leaf",
            extensions,
            by: Some("ca"),
            with: "-days 300",
        });
    }

    pub(crate) fn make(&self, made: Made<'_>) {
        let name = made.name;
        self.openssl(&format!("genpkey {} -out {name}.key", made.key));
        self.write(
            "request.cnf",
            "[req]\nprompt=no\ndistinguished_name=dn\nstring_mask=utf8only\n[dn]\n",
        );
        self.openssl(&format!(
            "req -new -config request.cnf -key {name}.key -subj {} -out {name}.csr",
            made.subject
        ));
        self.sign(made);
        self.remove("request.cnf");
    }

    /// Signs the request that was made before once more.
    pub(crate) fn sign(&self, made: Made<'_>) {
        let name = made.name;
        let section = format!("[ext]\n{}\n", made.extensions.join("\n"));
        self.write("extensions.cnf", section);
        let signer = match made.by {
            Some(by) => format!("-CA {by}.crt -CAkey {by}.key -CAcreateserial"),
            None => format!("-signkey {name}.key"),
        };
        let extensions = match made.extensions.is_empty() {
            true => "",
            false => "-extfile extensions.cnf -extensions ext",
        };
        self.openssl(&format!(
            "x509 -req -in {name}.csr {signer} {extensions} {} -out {name}.crt",
            made.with
        ));
        self.remove("extensions.cnf");
    }

    /// What is found in the folder, as `FILE severity code`, but for what is only told (`info`).
    pub(crate) fn examined(&self, now: Days) -> Vec<String> {
        for leftover in ["csr", "srl"] {
            let entries = fs::read_dir(self.path()).expect("the folder is there");
            for entry in entries.filter_map(Result::ok) {
                if entry
                    .path()
                    .extension()
                    .is_some_and(|ending| ending == leftover)
                {
                    fs::remove_file(entry.path()).expect("the file is there");
                }
            }
        }
        let mut observed = Observed::default();
        observed.sources = files::read(&[self.path().to_owned()], &mut observed.inventory);
        let folder = format!("file/{}/", self.path().display());
        let mut found: Vec<String> = diagnose(&observed, &config(), now.time())
            .iter()
            .filter(|finding| finding.severity > Severity::Info)
            .map(|finding| {
                let subject = finding.key.subject.to_string();
                let name = subject.strip_prefix(&folder).unwrap_or(&subject).to_owned();
                format!("{name} {} {}", finding.severity.word(), finding.key.code)
            })
            .collect();
        found.sort();
        found
    }

    /// What `openssl verify` says of `leaf.crt` with `ca.crt` trusted and, if it is there, `between.crt` between.
    pub(crate) fn openssl_verifies(&self, now: Days) -> Result<(), String> {
        let time = now.time().as_second().to_string();
        let mut words = vec!["verify", "-attime", &time, "-CAfile", "ca.crt"];
        if self.file("between.crt").exists() {
            words.extend(["-untrusted", "between.crt"]);
        }
        words.push("leaf.crt");
        let output = openssl::command(self.path(), &words).expect("openssl is there");
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }
}

/// Days from now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Days(pub(crate) i64);

impl Days {
    #[expect(
        clippy::disallowed_methods,
        reason = "openssl makes certificates from now on"
    )]
    fn time(self) -> Timestamp {
        // A minute later, so that what was just made is valid.
        Timestamp::now() + SignedDuration::from_hours(24 * self.0) + SignedDuration::from_mins(1)
    }
}

fn config() -> Config {
    Config {
        paths: Vec::new(),
        endpoints: Vec::new(),
        clusters: Vec::new(),
        thresholds: Thresholds {
            warn: None,
            fail: Threshold::Duration(SignedDuration::ZERO),
        },
        concurrency: 1,
        probe_timeout: std::time::Duration::from_secs(1),
        probe: false,
    }
}
