//! Times and lists in the words of a person. Pure.

use jiff::{SignedDuration, Timestamp};

use crate::material::Fault;

/// A time with its distance from now: `2026-11-30T12:00:00Z, 12 days ago`.
pub fn when(time: Timestamp, now: Timestamp) -> String {
    let distance = time.duration_since(now);
    let length = length(distance.abs());
    match distance.is_negative() {
        true => format!("{}, {length} ago", second(time)),
        false => format!("{}, in {length}", second(time)),
    }
}

/// A time to the second, in UTC.
pub fn second(time: Timestamp) -> String {
    match Timestamp::from_second(time.as_second()) {
        Ok(time) => time.to_string(),
        Err(_) => time.to_string(),
    }
}

/// A length of time in its largest unit: `364 days`, `5 hours`, `30 s`.
pub fn length(duration: SignedDuration) -> String {
    let seconds = duration.as_secs();
    let (count, unit) = match seconds {
        0..120 => return format!("{seconds} s"),
        120..7_200 => (seconds / 60, "minutes"),
        7_200..172_800 => (seconds / 3_600, "hours"),
        172_800..63_072_000 => (seconds / 86_400, "days"),
        _ => (seconds / 31_536_000, "years"),
    };
    format!("{count} {unit}")
}

/// A length of time in a column: `364d`, `5h`, `-3d`.
pub fn short_length(duration: SignedDuration) -> String {
    let sign = if duration.is_negative() { "-" } else { "" };
    let seconds = duration.abs().as_secs();
    let (count, unit) = match seconds {
        0..120 => (seconds, "s"),
        120..7_200 => (seconds / 60, "m"),
        7_200..172_800 => (seconds / 3_600, "h"),
        172_800..315_360_000 => (seconds / 86_400, "d"),
        _ => (seconds / 31_536_000, "y"),
    };
    format!("{sign}{count}{unit}")
}

/// Some of a list, and how many more: `a, b and 3 more`.
pub fn some<T: ToString>(items: &[T], most: usize) -> String {
    let shown: Vec<String> = items.iter().take(most).map(ToString::to_string).collect();
    let shown = shown.join(", ");
    match items.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// A number of things: `1 secret`, `2 secrets`.
pub fn count(number: usize, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        _ => format!("{number} {thing}s"),
    }
}

/// The stable code of a fault.
pub fn code_of(fault: &Fault) -> &'static str {
    match fault {
        Fault::Der => "der-encoded",
        Fault::DoubleEncoded(_) => "double-encoded",
        Fault::Empty => "empty-value",
        Fault::Invisible(_) | Fault::PassedOver(_) => "passed-over",
        Fault::TooLarge(_) => "too-large",
        Fault::Unopened(_) => "unopened",
        Fault::Unparsable(_) => "unparsable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_told_in_their_largest_unit() {
        let cases = [
            (0, "0 s", "0s"),
            (119, "119 s", "119s"),
            (7_199, "119 minutes", "119m"),
            (7_200, "2 hours", "2h"),
            (172_800, "2 days", "2d"),
            (31_535_999, "364 days", "364d"),
            (315_360_000, "10 years", "10y"),
        ];
        for (seconds, long, short) in cases {
            let duration = SignedDuration::from_secs(seconds);
            assert_eq!(
                (length(duration).as_str(), short_length(duration).as_str()),
                (long, short)
            );
        }
        assert_eq!(short_length(SignedDuration::from_hours(-72)), "-3d");
    }
}
