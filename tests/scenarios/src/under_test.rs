//! Which plugin the scenarios of this process are about.

use std::path::Path;
use std::sync::OnceLock;

use karmada_lab::{Backend, Lab, Spec};

/// The plugin that is under test; made by [`under_test!`](crate::under_test!).
#[derive(Debug, Clone, Copy)]
pub struct UnderTest {
    /// The path of its binary.
    pub binary: &'static str,
    /// The folder of its `Cargo.toml`.
    pub folder: &'static str,
    /// The version of its package.
    pub version: &'static str,
    /// Whether it can do without a control plane.
    pub control_plane: Need,
    /// Starts a federation with the fault that it finds: there, [`UnderTest::diagnosis`] exits with 1.
    pub federation: fn(&Backend) -> Box<dyn Lab>,
    /// The arguments with which it diagnoses; empty where it needs none.
    pub diagnosis: &'static [&'static str],
    /// What it says of how a run ended, beyond what all plugins say, each with the exit codes that this goes with.
    pub claims: &'static [(&'static str, &'static [i32])],
    /// Whether it repairs; else it has no flags of a repair.
    pub repairs: bool,
    /// Codes of findings without a dash, or from files that do not make the findings themselves.
    pub more_codes: &'static [&'static str],
    /// Words with dashes in the files that make its findings that are no codes of findings.
    pub no_codes: &'static [&'static str],
}

/// Whether something is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing can be said without it.
    Required,
    /// Something can be said without it.
    Optional,
    /// It is never asked.
    Unused,
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
/// Whatever differs from most plugins is written before it: `UnderTest { claims: &[...], ..under_test!("...") }`.
#[macro_export]
macro_rules! under_test {
    ($binary:literal) => {
        $crate::UnderTest {
            binary: env!(concat!("CARGO_BIN_EXE_", $binary)),
            folder: env!("CARGO_MANIFEST_DIR"),
            version: env!("CARGO_PKG_VERSION"),
            control_plane: $crate::Need::Required,
            federation: $crate::default_federation,
            diagnosis: &[],
            claims: &[],
            repairs: true,
            more_codes: &[],
            no_codes: &[],
        }
    };
}

/// The federation of [`Spec::default`]: two members whose endpoints lead the control plane back to itself.
pub fn default_federation(backend: &Backend) -> Box<dyn Lab> {
    backend.start(Spec::default()).unwrap()
}

static THIS: OnceLock<UnderTest> = OnceLock::new();
