//! What scenarios do with one cluster: its objects, its certificate, its users.

use std::io;
use std::path::PathBuf;

use http::Method;
use serde_json::{Value, json};

use super::federation::{PATIENCE, RealFederation, Server, poll};
use super::folder::{FOREIGN, NAMES, SERVED, WANTED};
use super::remote;
use crate::api::identity::{AUTHENTICATED, User};
use crate::api::refusal::Refusal;
use crate::kubeconfig::{self, Credentials};
use crate::lab::Cluster;
use crate::lock::lock;
use crate::runtime::Runtime;

/// Full rights in one cluster.
pub(super) struct Administrator<'a> {
    pub(super) federation: &'a RealFederation,
    pub(super) name: &'a str,
    pub(super) server: &'a Server,
}

impl Administrator<'_> {
    fn call(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<Value, Refusal> {
        let remote = &self.server.remote;
        let sent = remote.send(method, path, content_type, body);
        self.federation.runtime.wait(sent)
    }
}

impl Cluster for Administrator<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn read(&self, path: &str) -> Result<Value, Refusal> {
        self.call(Method::GET, path, JSON, &Value::Null)
    }

    fn create(&self, path: &str, object: &Value) -> Result<Value, Refusal> {
        let object = remote::complete(path, object.clone());
        self.call(Method::POST, path, JSON, &object)
    }

    fn patch(&self, path: &str, patch: &Value) -> Result<Value, Refusal> {
        self.call(Method::PATCH, path, "application/merge-patch+json", patch)
    }

    fn json_patch(&self, path: &str, patch: &Value) -> Result<Value, Refusal> {
        self.call(Method::PATCH, path, "application/json-patch+json", patch)
    }

    fn replace(&self, path: &str, object: &Value) -> Result<Value, Refusal> {
        self.call(Method::PUT, path, JSON, object)
    }

    fn delete(&self, path: &str) -> Result<Value, Refusal> {
        self.call(Method::DELETE, path, JSON, &Value::Null)
    }

    fn port(&self) -> u16 {
        self.server.port
    }

    fn authority(&self) -> String {
        self.server.authority.pem().to_owned()
    }

    fn names(&self) -> Vec<String> {
        let names = self.server.folder.json(NAMES);
        let names = names.as_array().into_iter().flatten();
        names
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect()
    }

    fn set_names(&self, names: &[String]) {
        let written = self.server.folder.write(NAMES, &json!(names).to_string());
        written.expect("the folder of a running node is there");
        renew_certificate(self.server, &self.federation.runtime);
    }

    fn set_foreign_authority(&self) {
        let written = self.server.folder.write(FOREIGN, "");
        written.expect("the folder of a running node is there");
        renew_certificate(self.server, &self.federation.runtime);
    }

    fn kubeconfig_for(&self, user: User) -> io::Result<PathBuf> {
        let groups: Vec<&str> = user
            .groups
            .iter()
            .map(String::as_str)
            .filter(|group| *group != AUTHENTICATED)
            .collect();
        if groups.len() > 1 {
            return Err(io::Error::other(
                "a certificate of the lab names one group at most",
            ));
        }
        let file = format!(
            "{}-{}.config",
            self.name,
            user.name.replace([':', '/'], "-")
        );
        let path = self.federation.directory.join(file);
        let leaf = self
            .server
            .authority
            .client(&user.name, groups.first().copied());
        let mut context = self
            .federation
            .kubeconfig_context(self.name, &user.name, "127.0.0.1");
        context.credentials = Credentials::Certificate(&leaf);
        kubeconfig::write(&path, &kubeconfig::render(&[context]))?;
        lock(&self.federation.secrets).extend(leaf.key_lines());
        Ok(path)
    }
}

/// Lets a server sign its certificate anew, and waits until it serves it.
///
/// # Panics
/// If it does not: no scenario can go on then.
pub(super) fn renew_certificate(server: &Server, runtime: &Runtime) {
    let folder = &server.folder;
    let wanted = folder.number(WANTED) + 1;
    let written = folder.write(WANTED, &wanted.to_string());
    written.expect("the folder of a running node is there");
    let ready = || {
        let asked = server
            .remote
            .send(Method::GET, "/readyz", JSON, &Value::Null);
        runtime.wait(asked).is_ok()
    };
    let renewed = poll(PATIENCE, || folder.number(SERVED) == wanted) && poll(PATIENCE, ready);
    assert!(
        renewed,
        "{} does not come back with its new certificate",
        folder.path().display()
    );
}

const JSON: &str = "application/json";
