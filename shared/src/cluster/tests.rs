//! Tests that need files, a server or a credential plugin.

mod client;
mod control_plane;
mod credential_plugin;
mod fake_server;
mod kubeconfig;
mod material;
mod selection;
mod tls;
