//! What can be found in any bytes: certificates, keys, tokens, kubeconfigs, in PEM, DER, base64, YAML and JSON. Pure.
//!
//! Secrets go no further: of a private key only the public half is kept, of a token only its claims.

mod document;
mod key;
mod pem;
mod read;
mod token;

use serde::Serialize;

use crate::certificate::{Certificate, PublicKey};

pub use key::KeyForm;
pub use read::read;
pub use token::Token;

/// One thing that was found in some bytes.
#[derive(Debug, Clone)]
pub struct Found {
    /// The way to it inside the value, as `users[admin]/client-certificate-data`; empty = the value itself.
    pub inside: String,
    /// What it is.
    pub what: Material,
}

/// What was found.
#[derive(Debug, Clone)]
pub enum Material {
    /// Certificates, in the order in which they stand.
    Certificates(Vec<Certificate>),
    /// A private key.
    Key(Key),
    /// A bearer token that is a JWT (RFC 7519).
    Token(Token),
    /// A context of a kubeconfig: who is asked, who asks.
    Context(Context),
    /// Something that is not as it should be.
    Fault(Fault),
}

/// What a private key tells without being kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Key {
    /// How it is written.
    pub form: KeyForm,
    /// Its public half; `None` = the key is encrypted, or of a kind that is not known here.
    pub public: Option<PublicKey>,
    /// What is wrong with it; `None` = nothing that is seen.
    pub defect: Option<String>,
}

/// A context of a kubeconfig; its certificates and keys are found beside it, under the names that it gives here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Context {
    /// The name.
    pub name: String,
    /// The URL of the server; `None` = the entry of the cluster is missing or has none.
    pub server: Option<String>,
    /// `tls-server-name`.
    pub server_name: Option<String>,
    /// `proxy-url`.
    pub proxy: Option<String>,
    /// Whether any certificate of the server is accepted.
    pub insecure: bool,
    /// Where the authorities are; `None` = those of the system.
    pub authorities: Option<Reference>,
    /// Where the client certificate is.
    pub client_certificate: Option<Reference>,
}

/// Where a kubeconfig keeps something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reference {
    /// In itself, at this way inside.
    Inside(String),
    /// In a file, by the path that it gives.
    File(String),
}

/// What is wrong with a value as such.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// It is in base64 once more than it should be; how often.
    DoubleEncoded(usize),
    /// It is in DER, where PEM is read.
    Der,
    /// It is empty.
    Empty,
    /// Nothing in it is seen by Go, and with it by Karmada; why.
    Invisible(String),
    /// A part that Go, and with it Karmada, passes over; why.
    PassedOver(String),
    /// It is too large to be read, in bytes.
    TooLarge(usize),
    /// It should hold something, and holds nothing that can be read; why.
    Unparsable(String),
    /// It is a container that is not opened here, by its name.
    Unopened(&'static str),
}

/// What a value is expected to be, by its name or its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// A certificate or a bundle of them.
    Certificate,
    /// A private key.
    Key,
    /// A bearer token.
    Token,
    /// A kubeconfig.
    Kubeconfig,
    /// Nothing in particular: what does not look like any of these is none of our business.
    Nothing,
}

impl Expectation {
    /// What the name of a key or of a file promises.
    pub fn of(name: &str) -> Expectation {
        let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        if ends(&[".crt", ".cert", ".cer"]) || name == "cabundle" || name == "ca-bundle" {
            Expectation::Certificate
        } else if ends(&[".key"]) {
            Expectation::Key
        } else if name == "token" {
            Expectation::Token
        } else if ends(&["kubeconfig"]) || name == "karmada.config" {
            Expectation::Kubeconfig
        } else {
            Expectation::Nothing
        }
    }
}

#[cfg(test)]
mod tests;
