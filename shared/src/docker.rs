//! The Docker daemon: where it is, what runs on it, and joining containers to networks. No type of the Engine API's
//! client leaves this folder.

pub mod client;
pub mod endpoint;
pub mod error;
pub mod host;
pub mod membership;
pub mod model;
pub mod refusal;
pub mod sockets;

mod context;
mod decode;
mod exec;
mod failure;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod fake_daemon;
mod start;
mod tls;
mod wire;
