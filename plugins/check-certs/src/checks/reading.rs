//! What could not be read, and what was not. Pure.

use karmada_repair::finding::{Finding, Severity, Subject};
use karmada_repair::part::Part;

use crate::observed::Reading;
use crate::view::{View, finding};

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    let sources = view.observed.sources.iter().filter_map(|source| {
        let subject = source.subject.clone();
        match &source.state {
            Reading::Read => None,
            Reading::NotExamined(how) => Some(
                finding(
                    "not-examined",
                    Severity::Info,
                    subject,
                    "was not examined: no access was given",
                )
                .hint(how.clone()),
            ),
            Reading::Unreadable(reason) => Some(finding(
                "source-unreadable",
                Severity::Unknown,
                subject,
                format!("cannot be read: {reason}"),
            )),
        }
    });
    let probes = view.observed.probes.iter().filter_map(|probe| {
        let subject = probe.target.holder.at("").subject();
        match &probe.shown {
            Part::Seen(shown) if !shown.is_empty() => None,
            Part::Seen(_) | Part::Absent => Some(finding(
                "endpoint-unreadable",
                Severity::Unknown,
                subject,
                "showed no certificate that can be read",
            )),
            Part::Unreadable(reason) => Some(finding(
                "endpoint-unreadable",
                Severity::Unknown,
                subject,
                format!("did not show its certificates: {reason}"),
            )),
        }
    });
    sources.chain(probes).chain(nothing(view)).collect()
}

/// A run that looked at nothing at all has nothing to say.
fn nothing(view: &View<'_>) -> Option<Finding> {
    let observed = view.observed;
    let looked = !observed.probes.is_empty()
        || observed
            .sources
            .iter()
            .any(|source| !matches!(source.state, Reading::NotExamined(_)));
    let message = "nothing was examined: no access to anything was given";
    let subject = Subject::new("federation", "all");
    (!looked).then(|| {
        finding("not-examined", Severity::Unknown, subject, message)
            .hint("kubectl karmada-check-certs --kubeconfig FILE --host-kubeconfig FILE, or --path FOLDER")
    })
}
