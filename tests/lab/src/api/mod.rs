//! A Kubernetes API server over an in-memory store.

pub(crate) mod apply;
pub(crate) mod bootstrap;
pub(crate) mod controllers;
pub(crate) mod discovery;
pub(crate) mod escalation;
pub(crate) mod exec;
pub(crate) mod fields;
pub(crate) mod identity;
pub(crate) mod kinds;
pub(crate) mod pages;
pub(crate) mod patch;
pub(crate) mod protobuf;
pub(crate) mod rbac;
pub(crate) mod refusal;
pub(crate) mod registry;
pub(crate) mod request;
pub(crate) mod reviews;
pub(crate) mod scale;
pub(crate) mod selectors;
pub(crate) mod server;
pub(crate) mod store;
pub(crate) mod strategy;
pub(crate) mod table;
pub(crate) mod watch;
pub(crate) mod workloads;
