//! The Docker daemon: where it is, what runs on it, and joining containers to networks. No type of the Engine API's
//! client leaves this folder.

pub mod client;
pub mod container_life;
pub mod endpoint;
pub mod error;
pub mod exec;
pub mod host;
pub mod listeners;
pub mod machine;
pub mod membership;
pub mod model;
pub mod network_draft;
pub mod reach;
pub mod refusal;
pub mod routes;
pub mod sockets;

mod context;
mod decode;
mod failure;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod fake_daemon;
mod start;
mod tls;
mod wire;
