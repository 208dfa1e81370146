//! Kubernetes: which cluster a kubeconfig means, and the only client that talks to one.

pub mod answer;
pub mod api_error;
pub mod client;
mod client_material;
pub mod connect;
pub mod control_plane;
pub mod credential_plugin;
pub mod error;
pub mod exec;
pub mod kind;
pub mod kubeconfig;
pub mod object;
pub mod on_behalf;
pub mod options;
pub mod port_forward;
pub mod presented;
pub mod proxy;
pub mod request_error;
pub mod tls_fault;
pub mod warnings;

pub(crate) mod material;
pub(crate) mod resource_path;
pub(crate) mod retry;
pub(crate) mod selection;
pub(crate) mod server_text;
pub(crate) mod session;
pub(crate) mod transport;

#[cfg(test)]
pub(crate) mod tests;
