//! The command-line flags that all plugins share, and what they mean.

pub mod connection;
