//! The page that explains the findings of the plugin.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::under_test::UnderTest;

/// The codes that have a section.
pub fn explained() -> &'static BTreeSet<String> {
    static EXPLAINED: OnceLock<BTreeSet<String>> = OnceLock::new();
    EXPLAINED.get_or_init(|| {
        let page = std::fs::read_to_string(path()).unwrap();
        let findings = page.split("\n## Findings").nth(1).unwrap_or_default();
        findings
            .lines()
            .filter_map(|line| line.strip_prefix("### "))
            .map(str::to_owned)
            .collect()
    })
}

/// Where the page is: `docs/NAME.md` in the plugin's own folder, else in that of the workspace.
///
/// # Panics
/// If there is none.
pub fn path() -> PathBuf {
    let under_test = UnderTest::of_this_process();
    let file = format!("docs/{}.md", under_test.name());
    let folder = Path::new(under_test.folder);
    let places = [folder.join(&file), folder.join("../..").join(&file)];
    let found = places.into_iter().find(|place| place.is_file());
    found.unwrap_or_else(|| {
        panic!(
            "{file} is neither in {} nor in the workspace",
            folder.display()
        )
    })
}
