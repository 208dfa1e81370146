//! The flags that plugins share, each group with the function that says what it means.

pub mod connection;
pub mod docker;
pub mod run;
