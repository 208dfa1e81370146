//! A Docker daemon that runs nothing: containers, networks and addresses as the Docker Engine keeps them, and its API.
//!
//! Everything but [`api`] and [`attached`] is pure.

pub(crate) mod api;
pub(crate) mod archive;
pub(crate) mod attach;
pub(crate) mod attached;
pub(crate) mod daemon;
pub(crate) mod exec;
pub(crate) mod failure;
pub(crate) mod files;
pub(crate) mod fleet;
pub(crate) mod lifecycle;
pub(crate) mod network;
pub(crate) mod reach;
pub(crate) mod render;
