//! When a request is tried again. Pure.

use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, Method, StatusCode};

/// How often one request is sent at most.
pub(crate) const MOST_TRIES: u32 = 10;

/// Which answers are a reason to send a request again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryOn {
    /// 429 only: the server did not take the request.
    Refusals,
    /// 429 and 503.
    Unavailability,
}

/// How long to wait before the request is sent again; `None` = its answer stands.
///
/// Only a server that names a time (`Retry-After` in seconds) is asked again, as in client-go.
pub(crate) fn retry_after(
    retry_on: RetryOn,
    status: StatusCode,
    headers: &HeaderMap,
    tries: u32,
) -> Option<Duration> {
    let retryable = match status {
        StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::SERVICE_UNAVAILABLE => retry_on == RetryOn::Unavailability,
        _ => false,
    };
    match retryable && tries < MOST_TRIES {
        true => requested_wait(headers),
        false => None,
    }
}

/// Whether a request may be sent again after its connection broke: only one that changes nothing, once.
pub(crate) fn may_repeat_after_reset(method: &Method, resets: u32) -> bool {
    method.is_safe() && resets == 1
}

fn requested_wait(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers
        .get(RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn waits_only_when_the_server_names_a_time() {
        use RetryOn::{Refusals, Unavailability};
        let table = [
            (Unavailability, 429, Some("1"), 1, Some(1)),
            (Unavailability, 429, Some("0"), 9, Some(0)),
            (Unavailability, 429, Some("1"), 10, None),
            (Unavailability, 429, None, 1, None),
            (Unavailability, 429, Some("soon"), 1, None),
            (Unavailability, 429, Some("-1"), 1, None),
            (Unavailability, 503, Some("2"), 1, Some(2)),
            (Unavailability, 503, None, 1, None),
            (Unavailability, 504, Some("2"), 1, None),
            (Unavailability, 200, Some("2"), 1, None),
            (Refusals, 429, Some("1"), 1, Some(1)),
            (Refusals, 503, Some("1"), 1, None),
        ];
        for (retry_on, status, header, tries, expected) in table {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert(RETRY_AFTER, header.parse().unwrap());
            }
            let status = StatusCode::from_u16(status).unwrap();
            let wait = retry_after(retry_on, status, &headers, tries);
            assert_eq!(
                wait,
                expected.map(Duration::from_secs),
                "{retry_on:?} {status} {header:?} {tries}"
            );
        }
    }
}
