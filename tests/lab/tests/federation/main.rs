//! The lab against clients that know nothing of it: kube, bollard, and kubectl where there is one.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod clients;
mod docker;
mod exec;
mod faults;
mod impersonation;
mod karmada;
mod kubectl;
mod kubernetes;
mod workloads;
