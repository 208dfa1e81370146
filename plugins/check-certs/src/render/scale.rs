//! Where on a line a time is drawn: near now days are wide, far from it years are narrow. Pure.

use jiff::Timestamp;

/// A line of times around now.
#[derive(Debug)]
pub(super) struct Scale {
    now: Timestamp,
    left: f64,
    middle: f64,
    right: f64,
    /// The weights of the ends of the line.
    past: f64,
    future: f64,
}

impl Scale {
    /// A line from `left` to `right` that holds these times.
    pub(super) fn over(
        times: impl Iterator<Item = Timestamp>,
        now: Timestamp,
        (left, right): (f64, f64),
    ) -> Scale {
        let (mut past, mut future) = (weight(30 * DAY), weight(YEAR));
        let longest = weight(LONGEST);
        for time in times {
            let distance = distance(time, now);
            match distance < 0 {
                true => past = past.max(weight(distance)).min(longest),
                false => future = future.max(weight(distance)).min(longest),
            }
        }
        Scale {
            now,
            left,
            middle: left + (right - left) * PAST,
            right,
            past,
            future,
        }
    }

    /// Where a time is; one that is further away than the line is at its end.
    pub(super) fn at(&self, time: Timestamp) -> f64 {
        let distance = distance(time, self.now);
        let weight = weight(distance);
        match distance < 0 {
            true => self.middle - (self.middle - self.left) * (weight / self.past).min(1.0),
            false => self.middle + (self.right - self.middle) * (weight / self.future).min(1.0),
        }
    }

    /// Where now is.
    pub(super) fn now(&self) -> f64 {
        self.middle
    }

    /// Where the line ends.
    pub(super) fn right(&self) -> f64 {
        self.right
    }

    /// The times that are named beside the line, as far as there is room, from left to right.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let place = |seconds: i64| {
            let weight = weight(seconds);
            match seconds < 0 {
                true if weight <= self.past => {
                    Some(self.middle - (self.middle - self.left) * weight / self.past)
                }
                false if weight <= self.future => {
                    Some(self.middle + (self.right - self.middle) * weight / self.future)
                }
                _ => None,
            }
        };
        let mut ticks: Vec<(f64, String)> = vec![(self.middle, "now".to_owned())];
        for (count, unit, seconds) in NAMED {
            for (sign, seconds) in [("−", -seconds), ("", seconds)] {
                let Some(at) = place(seconds) else { continue };
                if ticks.iter().all(|(other, _)| (other - at).abs() >= ROOM) {
                    ticks.push((at, format!("{sign}{count}{unit}")));
                }
            }
        }
        ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
        ticks
    }
}

fn distance(time: Timestamp, now: Timestamp) -> i64 {
    time.duration_since(now).as_secs()
}

/// Grows by the same amount each time a distance is multiplied, once it is longer than some hours.
fn weight(distance: i64) -> f64 {
    (distance.unsigned_abs() as f64 / UNIT).ln_1p()
}

const DAY: i64 = 86_400;
const YEAR: i64 = 365 * DAY;
const LONGEST: i64 = 100 * YEAR;
/// Distances shorter than this are drawn in proportion.
const UNIT: f64 = 6.0 * 3_600.0;
/// How much of the line is the past.
const PAST: f64 = 0.26;
/// How far apart names are at least.
const ROOM: f64 = 34.0;
/// The distances that are worth a name, the most useful first.
const NAMED: [(u32, &str, i64); 8] = [
    (30, "d", 30 * DAY),
    (1, "y", YEAR),
    (7, "d", 7 * DAY),
    (1, "d", DAY),
    (10, "y", 10 * YEAR),
    (90, "d", 90 * DAY),
    (3, "y", 3 * YEAR),
    (100, "y", LONGEST),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().expect("the test's times are valid")
    }

    #[test]
    fn later_is_further_right_and_nothing_leaves_the_line() {
        let now = time("2026-06-01T00:00:00Z");
        let times = [
            "1970-01-01T00:00:00Z",
            "2025-06-01T00:00:00Z",
            "2026-05-31T23:00:00Z",
            "2026-06-01T00:00:00Z",
            "2026-06-01T01:00:00Z",
            "2026-06-08T00:00:00Z",
            "2036-06-01T00:00:00Z",
            "9999-12-30T22:00:00Z",
        ]
        .map(time);
        let scale = Scale::over(times.into_iter(), now, (100.0, 900.0));
        let places = times.map(|time| scale.at(time));
        assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
        assert!(
            places.iter().all(|place| (100.0..=900.0).contains(place)),
            "{places:?}"
        );
        assert_eq!(scale.at(now), scale.now());
    }

    #[test]
    fn names_do_not_overlap_and_say_where_now_is() {
        let now = time("2026-06-01T00:00:00Z");
        for far in [
            "2026-06-02T00:00:00Z",
            "2027-06-01T00:00:00Z",
            "2099-01-01T00:00:00Z",
        ] {
            let scale = Scale::over([time(far)].into_iter(), now, (0.0, 580.0));
            let ticks = scale.ticks();
            assert!(
                ticks
                    .iter()
                    .any(|(at, name)| name == "now" && *at == scale.now())
            );
            assert!(
                ticks.windows(2).all(|pair| pair[1].0 - pair[0].0 >= ROOM),
                "{ticks:?}"
            );
            assert!(ticks.len() >= 4, "{ticks:?}");
        }
    }
}
