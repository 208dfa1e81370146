//! The real backend: etcd, kube-apiserver and a Docker daemon, in namespaces of their own.
//!
//! A test program that wants it starts itself again in new network, mount and process namespaces ([`entry`]), so that
//! neither the machine's iptables nor its `/run` is touched, addresses cannot clash, and everything ends with the
//! program. In there it starts one Docker daemon ([`dockerd`]) and federations on it ([`federation`]), one at a time.
//!
//! Containers have the machine's `/usr`, and run the test program itself ([`node`]): it starts etcd and the API servers
//! of its node, and on the host cluster's first server Karmada's part ([`karmada`]), which therefore dials from there.
//! What the lab wants of a node it writes into a folder that both see ([`folder`]).

mod administrator;
mod api_process;
mod bare;
mod container;
mod custom;
mod dockerd;
mod engine;
mod entry;
mod equipment;
mod federation;
mod folder;
mod forward;
mod karmada;
mod lab;
mod node;
mod operations;
mod parts;
mod remote;
mod reset;
mod settings;
mod tokens;
mod turn;
mod workloads;

pub use bare::{BareDocker, DockerOf};

pub(crate) use entry::enter;
pub(crate) use lab::start;
pub(crate) use parts::missing;
