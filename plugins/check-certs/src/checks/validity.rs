//! Certificates outside their validity, or near its end. Pure.

use jiff::SignedDuration;
use karmada_repair::finding::{Finding, Severity};

use crate::certificate::Certificate;
use crate::inventory::Role;
use crate::threshold::Stage;
use crate::view::View;
use crate::words::{length, second, when};

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    view.certificates()
        .flat_map(|certificate| [lifetime(view, certificate), ends_first(view, certificate)])
        .flatten()
        .collect()
}

fn lifetime(view: &View<'_>, certificate: &Certificate) -> Option<Finding> {
    let title = certificate.title();
    let until = when(certificate.not_after, view.now);
    if certificate.not_after < certificate.not_before {
        let message = format!(
            "{title:?} ends at {} before it begins at {}, so it is never valid",
            second(certificate.not_after),
            second(certificate.not_before)
        );
        return Some(view.about(certificate, "validity-reversed", Severity::Error, message));
    }
    let ended = |code, severity, message| {
        Some(
            view.about(certificate, code, severity, message)
                .expected("valid now")
                .actual(format!("valid until {}", second(certificate.not_after))),
        )
    };
    match view.stage(certificate) {
        Stage::Fine => None,
        Stage::Expired if is_left_over(view, certificate) => ended(
            "expired",
            Severity::Info,
            format!("{title:?} expired at {until}; a valid one of the same name stands beside it everywhere"),
        ),
        Stage::Expired => ended(
            "expired",
            Severity::Error,
            format!("{title:?} expired at {until}"),
        ),
        Stage::Failing => ended(
            "expiring",
            Severity::Error,
            format!("{title:?} expires at {until}, which is within --fail-within"),
        ),
        Stage::Expiring => ended(
            "expiring",
            Severity::Warning,
            format!("{title:?} expires at {until}"),
        ),
        Stage::NotYetValid => Some(
            view.about(
                certificate,
                "not-yet-valid",
                Severity::Error,
                format!(
                    "{title:?} is not valid before {}; this machine's clock says {}, and is behind by {} if the certificate was just made",
                    second(certificate.not_before),
                    second(view.now),
                    length(certificate.not_before.duration_since(view.now))
                ),
            )
            .expected("valid now")
            .actual(format!("valid from {}", second(certificate.not_before))),
        ),
    }
}

/// Whether an expired authority is only kept beside its valid successor, as in a bundle of an old and a new one.
fn is_left_over(view: &View<'_>, certificate: &Certificate) -> bool {
    let mut holding = view.holding(&certificate.fingerprint).iter().peekable();
    holding.peek().is_some()
        && holding.all(|bundle| {
            bundle.role == Role::Trust
                && view.of(bundle).any(|other| {
                    other.fingerprint != certificate.fingerprint
                        && other.subject_der == certificate.subject_der
                        && other.not_before <= view.now
                        && view.now < other.not_after
                })
        })
}

/// A certificate that outlives all its authorities promises a life that it does not have.
fn ends_first(view: &View<'_>, leaf: &Certificate) -> Option<Finding> {
    if leaf.is_self_issued() || leaf.not_after <= view.now {
        return None;
    }
    let issuers = view.everything().named(&leaf.issuer_der);
    let last = issuers
        .into_iter()
        .filter(|issuer| view.judge.signed(leaf, issuer) == crate::signature::Signed::Yes)
        .max_by_key(|issuer| issuer.not_after)?;
    let outlived = leaf.not_after.duration_since(last.not_after);
    if outlived <= SLACK || last.not_after <= view.now {
        return None;
    }
    let message = format!(
        "{:?} says it is valid until {}, but its authority {:?} ends before, at {}: then it is refused",
        leaf.title(),
        second(leaf.not_after),
        last.title(),
        when(last.not_after, view.now)
    );
    Some(
        view.about(leaf, "ca-ends-first", Severity::Warning, message)
            .expected(format!(
                "an authority valid until {}",
                second(leaf.not_after)
            ))
            .actual(format!("valid until {}", second(last.not_after))),
    )
}

/// Authorities and their first certificates are often made for the same time, one after the other.
const SLACK: SignedDuration = SignedDuration::from_hours(24);
