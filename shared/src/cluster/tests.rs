//! Tests that need files, a server or a credential plugin.

mod client;
mod connect;
mod control_plane;
mod credential_plugin;
mod exec;
mod failures;
pub(crate) mod fake_server;
mod kubeconfig;
mod material;
mod on_behalf;
mod refusals;
mod selection;
mod tls;
