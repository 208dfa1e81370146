//! Tokens that have ended or will. Pure.

use karmada_repair::finding::{Finding, Severity};

use crate::inventory::TokenAt;
use crate::threshold::Stage;
use crate::view::{View, finding};
use crate::words::{second, when};

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    view.inventory()
        .tokens
        .iter()
        .filter_map(|token| of(view, token))
        .collect()
}

/// Where in its life a token is; `None` = it does not end.
pub(crate) fn stage(view: &View<'_>, at: &TokenAt) -> Option<Stage> {
    let until = at.token.expires?;
    let since = at.token.issued.unwrap_or(until);
    Some(view.config.thresholds.stage(since, until, view.now))
}

fn of(view: &View<'_>, at: &TokenAt) -> Option<Finding> {
    let bearer = at.token.subject.as_deref().unwrap_or("nobody");
    if let Some(since) = at.token.not_before.filter(|since| *since > view.now) {
        let message = format!(
            "the token of {bearer} is not valid before {}; this machine's clock says {}",
            when(since, view.now),
            second(view.now)
        );
        return Some(finding(
            "token-not-yet-valid",
            Severity::Error,
            at.place.subject(),
            message,
        ));
    }
    let until = at.token.expires?;
    let (code, severity, verb) = match stage(view, at)? {
        Stage::Fine | Stage::NotYetValid => return None,
        Stage::Expired => ("token-expired", Severity::Error, "expired"),
        Stage::Failing => ("token-expiring", Severity::Error, "expires"),
        Stage::Expiring => ("token-expiring", Severity::Warning, "expires"),
    };
    let message = format!("the token of {bearer} {verb} at {}", when(until, view.now));
    Some(
        finding(code, severity, at.place.subject(), message)
            .expected("valid now")
            .actual(format!("valid until {}", second(until))),
    )
}
