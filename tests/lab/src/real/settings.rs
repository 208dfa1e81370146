//! How settings travel to a node.

use std::time::Duration;

use serde_json::{Value, json};

use crate::spec::{Timing, Works};

/// The timing as milliseconds.
pub(super) fn of_timing(timing: &Timing) -> Value {
    let parts = [
        timing.frequency,
        timing.success_threshold,
        timing.failure_threshold,
        timing.dial_timeout,
        timing.request_timeout,
        timing.restart,
        timing.work_backoff,
    ];
    json!(parts.map(|part| u64::try_from(part.as_millis()).unwrap_or(u64::MAX)))
}

/// The timing that [`of_timing`] wrote.
pub(super) fn to_timing(value: &Value) -> Timing {
    let part = |index: usize| Duration::from_millis(value[index].as_u64().unwrap_or_default());
    Timing {
        frequency: part(0),
        success_threshold: part(1),
        failure_threshold: part(2),
        dial_timeout: part(3),
        request_timeout: part(4),
        restart: part(5),
        work_backoff: part(6),
    }
}

/// The timing at which a busy machine with real parts keeps up.
pub(super) fn sustainable(wanted: &Timing) -> Timing {
    let at_least = |part: Duration, millis| part.max(Duration::from_millis(millis));
    Timing {
        frequency: at_least(wanted.frequency, 400),
        success_threshold: at_least(wanted.success_threshold, 800),
        failure_threshold: at_least(wanted.failure_threshold, 800),
        dial_timeout: at_least(wanted.dial_timeout, 1000),
        request_timeout: at_least(wanted.request_timeout, 5000),
        restart: at_least(wanted.restart, 300),
        work_backoff: at_least(wanted.work_backoff, 400),
    }
}

pub(super) fn of_works(works: Works) -> Value {
    json!(format!("{works:?}"))
}

pub(super) fn to_works(value: &Value) -> Works {
    let all = [Works::Asleep, Works::Awake, Works::Backoff];
    let named = all.into_iter().find(|works| of_works(*works) == *value);
    named.unwrap_or(Works::Backoff)
}
