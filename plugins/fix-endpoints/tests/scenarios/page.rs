//! The page that explains the findings.

/// The codes that have a section.
pub(crate) fn explained() -> Vec<&'static str> {
    let findings = PAGE.split("\n## Findings").nth(1).unwrap_or_default();
    findings
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .collect()
}

const PAGE: &str = include_str!("../../../../docs/fix-endpoints.md");
