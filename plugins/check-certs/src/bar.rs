//! A bar of the life that is left. Pure.

use jiff::Timestamp;

/// A bar of ten cells, filled by what is left of the life: `########..`; all empty once it has ended.
pub fn bar(since: Timestamp, until: Timestamp, now: Timestamp) -> String {
    let lifetime = until.duration_since(since).as_secs().max(1);
    let left = until.duration_since(now).as_secs().clamp(0, lifetime);
    let cells = i64::from(CELLS);
    // What is left is not nothing, and what is gone is not everything.
    let filled = match left {
        0 => 0,
        left => (left * cells / lifetime).clamp(1, cells),
    };
    let filled = usize::try_from(filled).unwrap_or(0);
    format!(
        "{}{}",
        "#".repeat(filled),
        ".".repeat(CELLS as usize - filled)
    )
}

const CELLS: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_shrinks_and_is_empty_only_at_the_end() {
        let time = |second| Timestamp::from_second(second).expect("the test's times are valid");
        for (now, expected) in [
            (0, "##########"),
            (-50, "##########"),
            (550, "####......"),
            (999, "#........."),
            (1000, ".........."),
            (2000, ".........."),
        ] {
            assert_eq!(bar(time(0), time(1000), time(now)), expected, "{now}");
        }
    }
}
