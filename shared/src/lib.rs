//! What every plugin that repairs a Karmada federation shares: the pipeline
//! observe, diagnose, plan, confirm, apply, verify, and the seams to Kubernetes, Docker and the terminal.

pub mod cli;
pub mod cluster;
pub mod env;
pub mod error;
pub mod exit;
