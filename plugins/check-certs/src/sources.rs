//! Where certificates are looked for; the reads.

pub mod components;
pub mod control_plane;
pub mod files;
pub mod host;
pub mod in_use;
pub mod member;
mod paged;
mod secrets;
