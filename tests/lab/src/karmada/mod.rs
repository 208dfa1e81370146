//! What Karmada adds to an API server. Everything here reads and writes objects through [`objects::Objects`] and
//! dials through [`dial::Dialer`], so that it serves an embedded and a real control plane alike.

pub(crate) mod agent;
pub(crate) mod controller_manager;
pub(crate) mod delivery;
pub(crate) mod dial;
pub(crate) mod execution;
pub(crate) mod health;
pub(crate) mod join;
pub(crate) mod log;
pub(crate) mod member;
pub(crate) mod objects;
pub(crate) mod proxy;
pub(crate) mod trust;
pub(crate) mod unified_auth;
pub(crate) mod validation;
