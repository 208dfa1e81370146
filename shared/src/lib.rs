//! What every plugin that repairs a Karmada federation shares: the pipeline
//! observe, diagnose, plan, confirm, apply, verify, and the seams to Kubernetes, Docker and the terminal.

pub mod access;
pub mod apply;
pub mod backup;
pub mod cli;
pub mod clock;
pub mod cluster;
pub mod confirm;
pub mod docker;
pub mod driver;
pub mod env;
pub mod error;
pub mod exit;
pub mod finding;
pub mod interrupt;
pub mod io;
pub mod karmada;
pub mod part;
pub mod plan;
pub mod progress;
pub mod report;
pub mod text;
pub mod tls;

mod core_dump;
mod undo;
