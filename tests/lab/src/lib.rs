//! A Karmada federation in this process: control plane, host and member clusters over real TLS on loopback, a Docker
//! daemon on a Unix socket, and Karmada's cluster controller in between.
//!
//! It starts in well under a second, needs nothing but Rust, and knows nothing of the plugins it is used to test.
//!
//! ```no_run
//! use karmada_lab::{Federation, Spec};
//!
//! let federation = Federation::start(Spec::default())?;
//! let cluster = federation.control_plane().read("/apis/cluster.karmada.io/v1alpha1/clusters/cluster-a")?;
//! assert_eq!(cluster["status"]["conditions"][0]["reason"], "ClusterNotReachable");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod administrator;
mod api;
mod assembly;
mod backend;
mod certificates;
mod cluster_contents;
mod docker;
mod embedded;
mod faults;
mod federation;
mod fingerprint;
mod karmada;
mod kubeconfig;
mod kubelet;
mod lab;
mod listener;
mod lock;
mod operations;
mod random;
mod real;
mod requests;
mod roll_out;
mod runtime;
mod spec;
mod wire;
mod wiring;

pub use administrator::Administrator;
pub use api::exec::{Execution, PodExec};
pub use api::identity::{ImpersonationWording, User};
pub use api::refusal::Refusal;
pub use backend::{Availability, Backend, backends, enter};
pub use docker::daemon::{Engine, State};
pub use docker::failure::Failure;
pub use faults::{Effect, Fault};
pub use federation::{Federation, StartError};
pub use lab::{Certificate, Cluster, Containers, Lab};
pub use operations::Docker;
pub use real::{BareDocker, DockerOf};
pub use requests::Request;
pub use spec::{ClusterSpec, Endpoint, Flavour, MemberSpec, Mode, Spec, Timing, Works};
