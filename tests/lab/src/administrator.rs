//! What tests do with one cluster: its objects, its certificate, its users.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::Method;
use serde_json::Value;

use crate::api::exec::{Execution, PodExec};
use crate::api::identity::User;
use crate::api::refusal::Refusal;
use crate::certificates::Authority;
use crate::federation::Federation;
use crate::kubeconfig::{self, Credentials};
use crate::lock::lock;
use crate::wiring::{self, Wired};

/// Reads and writes the objects of one cluster with full rights, past network, record and faults.
#[derive(Clone, Copy)]
pub struct Administrator<'a> {
    pub(crate) federation: &'a Federation,
    pub(crate) name: &'a str,
}

impl Administrator<'_> {
    /// The server's name in the record of requests.
    pub fn name(&self) -> &str {
        self.name
    }

    /// `GET` of an object or a list.
    ///
    /// # Errors
    /// What the API server refuses; 404 when there is no such object.
    pub fn read(&self, path: &str) -> Result<Value, Refusal> {
        self.call(Method::GET, path, JSON, &Value::Null)
    }

    /// `POST` to a collection.
    ///
    /// # Errors
    /// What the API server refuses.
    pub fn create(&self, path: &str, object: &Value) -> Result<Value, Refusal> {
        self.call(Method::POST, path, JSON, object)
    }

    /// `PATCH` with a merge patch (RFC 7386).
    ///
    /// # Errors
    /// What the API server refuses.
    pub fn patch(&self, path: &str, patch: &Value) -> Result<Value, Refusal> {
        self.call(Method::PATCH, path, "application/merge-patch+json", patch)
    }

    /// `PATCH` with a JSON Patch (RFC 6902).
    ///
    /// # Errors
    /// What the API server refuses.
    pub fn json_patch(&self, path: &str, patch: &Value) -> Result<Value, Refusal> {
        self.call(Method::PATCH, path, "application/json-patch+json", patch)
    }

    /// `PUT` of an object.
    ///
    /// # Errors
    /// What the API server refuses.
    pub fn replace(&self, path: &str, object: &Value) -> Result<Value, Refusal> {
        self.call(Method::PUT, path, JSON, object)
    }

    /// `DELETE` of an object.
    ///
    /// # Errors
    /// What the API server refuses.
    pub fn delete(&self, path: &str) -> Result<Value, Refusal> {
        self.call(Method::DELETE, path, JSON, &Value::Null)
    }

    /// The port on 127.0.0.1 at which the API server is published.
    pub fn port(&self) -> u16 {
        self.wired().published.number()
    }

    /// Lets the published port refuse connections, or serve them again while its containers run.
    pub fn set_refusing(&self, refusing: bool) {
        self.wired().refusing.store(refusing, Ordering::SeqCst);
        self.federation.settle();
    }

    /// PEM of the authority that signed the serving certificate.
    pub fn authority(&self) -> &str {
        self.federation.wiring.servers[self.name]
            .api
            .authority()
            .pem()
    }

    /// The subject alternative names of the serving certificate.
    pub fn names(&self) -> Vec<String> {
        lock(&self.wired().serving.names).clone()
    }

    /// Serves a new certificate with these names from now on.
    pub fn set_names<N: Into<String>>(&self, names: impl IntoIterator<Item = N>) {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let wired = self.wired();
        wired.present(&wiring::leaf(&wired.api, &names));
        *lock(&wired.serving.names) = names;
    }

    /// Keeps the certificate as it is when addresses change.
    pub fn freeze_names(&self) {
        *lock(&self.wired().serving.frozen) = true;
    }

    /// Serves a certificate of another authority than the one clients were given.
    pub fn set_foreign_authority(&self) {
        let wired = self.wired();
        let leaf = Authority::new("another-ca").serving("kube-apiserver", &self.names());
        wired.present(&leaf);
    }

    /// Keeps a certificate of another authority in the files of its containers, as those of another cluster would.
    pub fn set_foreign_file(&self) {
        let leaf = Authority::new("another-ca").serving("kube-apiserver", &self.names());
        *lock(&self.wired().serving.pem) = leaf.certificate_pem;
    }

    /// A kubeconfig of its own for some user of this cluster, authenticated by a token.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn kubeconfig_for(&self, user: User) -> io::Result<PathBuf> {
        let token = format!("lab-{}", crate::random::hexadecimal(32));
        let path = self.federation.directory().join(format!(
            "{}-{}.config",
            self.name,
            user.name.replace([':', '/'], "-")
        ));
        let name = user.name.clone();
        self.wired().api.add_token(&token, user);
        let mut context = self
            .federation
            .context(self.name, self.name, &name, "127.0.0.1");
        context.credentials = Credentials::Token(&token);
        kubeconfig::write(&path, &kubeconfig::render(&[context]))?;
        lock(&self.federation.secrets).push(token.clone());
        Ok(path)
    }

    /// Lets this answer the commands that are run in pods of this cluster (`pods/exec`); before, no container has any
    /// program. It may block for as long as a command takes.
    pub fn on_exec(&self, script: impl Fn(&PodExec) -> Execution + Send + Sync + 'static) {
        self.wired().api.set_script(Arc::new(script));
    }

    pub(crate) fn wired(&self) -> &Wired {
        &self.federation.wiring.servers[self.name]
    }

    fn call(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<Value, Refusal> {
        self.wired().api.direct(method, path, content_type, body)
    }
}

const JSON: &str = "application/json";
