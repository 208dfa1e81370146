//! Which plugin the scenarios of this process are about.

use std::path::Path;
use std::sync::OnceLock;

/// The plugin that is under test; made by [`under_test!`](crate::under_test!).
#[derive(Debug, Clone, Copy)]
pub struct UnderTest {
    /// The path of its binary.
    pub binary: &'static str,
    /// The folder of its `Cargo.toml`.
    pub folder: &'static str,
    /// What it says of how a run ended, beyond what all plugins say, each with the exit codes that this goes with.
    pub claims: &'static [(&'static str, &'static [i32])],
}

impl UnderTest {
    /// The one of this process.
    ///
    /// # Panics
    /// Before [`crate::main`] was called.
    pub fn of_this_process() -> &'static UnderTest {
        THIS.get().expect("main was called")
    }

    /// The name after `kubectl karmada-`, such as `fix-endpoints`.
    pub fn name(&self) -> String {
        let file = Path::new(self.binary).file_stem().unwrap_or_default();
        let name = file.to_string_lossy().replace('_', "-");
        name.trim_start_matches("kubectl-karmada-").to_owned()
    }

    pub(crate) fn enter(self) {
        THIS.set(self).expect("main is called once");
    }
}

/// The plugin of this package, by the name of its binary.
///
/// Whatever differs from other plugins is written before it: `UnderTest { claims: &[...], ..under_test!("...") }`.
#[macro_export]
macro_rules! under_test {
    ($binary:literal) => {
        $crate::UnderTest {
            binary: env!(concat!("CARGO_BIN_EXE_", $binary)),
            folder: env!("CARGO_MANIFEST_DIR"),
            claims: &[],
        }
    };
}

static THIS: OnceLock<UnderTest> = OnceLock::new();
