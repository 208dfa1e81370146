//! How long a certificate must still live. Pure.

use jiff::fmt::friendly::SpanParser;
use jiff::{SignedDuration, SpanRelativeTo, Timestamp};

/// A length of time that must be left, given as such or as a part of the lifetime.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Threshold {
    /// A length of time.
    Duration(SignedDuration),
    /// A part of the lifetime, in percent.
    Percent(f64),
}

/// Since when a certificate is worth a word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// Less left is a warning; `None` = the smaller of 30 days and a third of the lifetime.
    pub warn: Option<Threshold>,
    /// Less left is an error.
    pub fail: Threshold,
}

/// Where in its life something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Enough is left.
    Fine,
    /// It will begin later than now.
    NotYetValid,
    /// Less is left than is wanted.
    Expiring,
    /// Less is left than is tolerated.
    Failing,
    /// It has ended.
    Expired,
}

impl Threshold {
    /// Reads `30d`, `720h`, `1h30m`, `30%` or `0`.
    ///
    /// # Errors
    /// In words, when it is none of these.
    pub fn parse(text: &str) -> Result<Threshold, String> {
        let text = text.trim();
        if let Some(number) = text.strip_suffix('%') {
            return match number.trim().parse::<f64>() {
                Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Threshold::Percent(percent)),
                _ => Err(format!(
                    "{text:?} is no part of a lifetime: write 0% to 100%"
                )),
            };
        }
        if text == "0" {
            return Ok(Threshold::Duration(SignedDuration::ZERO));
        }
        let span = SpanParser::new()
            .parse_span(text)
            .map_err(|_| format!("{text:?} is no length of time: write 30d, 720h or 30%"))?;
        let duration = span
            .to_duration(SpanRelativeTo::days_are_24_hours())
            .map_err(|_| format!("{text:?} has no fixed length: write it in days or hours"))?;
        match duration.is_negative() {
            true => Err(format!("{text:?} is negative")),
            false => Ok(Threshold::Duration(duration)),
        }
    }

    /// The length of time for this lifetime.
    pub fn of(self, lifetime: SignedDuration) -> SignedDuration {
        match self {
            Threshold::Duration(duration) => duration,
            Threshold::Percent(percent) => {
                SignedDuration::from_secs((lifetime.as_secs() as f64 * percent / 100.0) as i64)
            }
        }
    }
}

impl Thresholds {
    /// Where in its life something is that lives from `since` until `until`.
    pub fn stage(&self, since: Timestamp, until: Timestamp, now: Timestamp) -> Stage {
        let lifetime = until.duration_since(since).max(SignedDuration::ZERO);
        let left = until.duration_since(now);
        let warn = match self.warn {
            Some(threshold) => threshold.of(lifetime),
            None => USUAL.min(lifetime / 3),
        };
        // As `openssl x509 -checkend`: the last second counts as over.
        if left <= SignedDuration::ZERO {
            Stage::Expired
        } else if left <= self.fail.of(lifetime) {
            Stage::Failing
        } else if now < since {
            Stage::NotYetValid
        } else if left <= warn {
            Stage::Expiring
        } else {
            Stage::Fine
        }
    }
}

const USUAL: SignedDuration = SignedDuration::from_hours(30 * 24);

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().expect("the test's times are valid")
    }

    #[test]
    fn thresholds_are_lengths_or_parts() {
        let hours = |hours| Ok(Threshold::Duration(SignedDuration::from_hours(hours)));
        for (text, expected) in [
            ("30d", hours(720)),
            ("720h", hours(720)),
            ("1w", hours(168)),
            ("0", hours(0)),
            ("0d", hours(0)),
            ("30%", Ok(Threshold::Percent(30.0))),
            ("2.5 %", Ok(Threshold::Percent(2.5))),
        ] {
            assert_eq!(Threshold::parse(text), expected, "{text}");
        }
        for text in ["", "30", "-1d", "1mo", "101%", "-1%", "x%", "soon"] {
            assert!(Threshold::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_short_life_is_warned_of_late() {
        let thresholds = Thresholds {
            warn: None,
            fail: Threshold::Duration(SignedDuration::ZERO),
        };
        let stage =
            |since, until| thresholds.stage(time(since), time(until), time("2026-06-01T00:00:00Z"));
        let cases = [
            ("2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z", Stage::Fine),
            (
                "2025-07-01T00:00:00Z",
                "2026-06-30T00:00:00Z",
                Stage::Expiring,
            ),
            ("2026-05-31T23:00:00Z", "2026-06-01T23:00:00Z", Stage::Fine),
            (
                "2026-05-31T01:00:00Z",
                "2026-06-01T01:00:00Z",
                Stage::Expiring,
            ),
            (
                "2025-01-01T00:00:00Z",
                "2026-06-01T00:00:00Z",
                Stage::Expired,
            ),
            (
                "2025-01-01T00:00:00Z",
                "2026-06-01T00:00:01Z",
                Stage::Expiring,
            ),
            (
                "2026-06-02T00:00:00Z",
                "2027-06-02T00:00:00Z",
                Stage::NotYetValid,
            ),
        ];
        for (since, until, expected) in cases {
            assert_eq!(stage(since, until), expected, "{since} {until}");
        }
    }

    #[test]
    fn what_is_tolerated_is_a_part_of_the_lifetime_too() {
        let thresholds = Thresholds {
            warn: Some(Threshold::Percent(50.0)),
            fail: Threshold::Percent(10.0),
        };
        let stage = |now| {
            thresholds.stage(
                time("2026-01-01T00:00:00Z"),
                time("2026-04-11T00:00:00Z"),
                time(now),
            )
        };
        assert_eq!(stage("2026-02-19T00:00:00Z"), Stage::Fine);
        assert_eq!(stage("2026-02-20T00:00:00Z"), Stage::Expiring);
        assert_eq!(stage("2026-04-01T00:00:00Z"), Stage::Failing);
    }
}
