//! The flags that plugins share, each group with the function that says what it means.

pub mod docker;
