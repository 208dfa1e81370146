//! The `openssl` program.

use std::path::Path;
use std::process::Output;

/// Why the program cannot be used; `None` = it can.
pub(crate) fn missing() -> Option<String> {
    match command(Path::new("."), &["version"]) {
        Ok(output) if output.status.success() => None,
        _ => Some("needs the program openssl".to_owned()),
    }
}

/// Runs it in a folder.
///
/// # Panics
/// When it fails: the test's own words are wrong then.
pub(crate) fn run(folder: &Path, words: &str) {
    let words: Vec<&str> = words.split_whitespace().collect();
    let output = command(folder, &words).expect("openssl is there");
    assert!(
        output.status.success(),
        "openssl {words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Runs it in a folder, whatever comes of it.
#[expect(
    clippy::disallowed_methods,
    reason = "it makes certificates that no library here can make"
)]
pub(crate) fn command(folder: &Path, words: &[&str]) -> std::io::Result<Output> {
    std::process::Command::new("openssl")
        .args(words)
        .current_dir(folder)
        .output()
}
