//! Runs that are refused before anything is written.

use karmada_lab::Federation;

use crate::plugin::Plugin;

/// The run, with consent, ends with this code and an error in kubectl's voice, tells these texts, and writes nothing.
#[track_caller]
pub fn refuses(federation: &Federation, plugin: Plugin, code: i32, texts: &[&str]) {
    federation.forget_requests();
    let said = plugin.args(&["--yes", "--timeout", "1s"]).run();
    said.exits(code).tells("error: ");
    for text in texts {
        said.tells(text);
    }
    assert_eq!(federation.writes(), [], "{said}");
}

/// A file `given.config` with this text, for `--kubeconfig`.
pub fn kubeconfig(federation: &Federation, text: &str) -> String {
    let path = federation.directory().join("given.config");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}
