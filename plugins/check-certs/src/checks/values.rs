//! Values that are not what they should be: empty, encoded once too often, unreadable. Pure.

use karmada_repair::finding::{Finding, Severity};

use crate::inventory::FaultAt;
use crate::material::{Expectation, Fault};
use crate::place::Holder;
use crate::view::{View, finding};
use crate::words::code_of;

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    view.inventory()
        .faults
        .iter()
        .filter(|at| concerns_us(view, at))
        .map(of)
        .collect()
}

/// A file or key named `.key` may be any secret; it is ours where a certificate stands beside it.
pub(crate) fn concerns_us(view: &View<'_>, at: &FaultAt) -> bool {
    let is_about_nothing = matches!(at.fault, Fault::Unparsable(_) | Fault::Empty);
    at.expectation != Expectation::Key
        || !is_about_nothing
        || !view.beside(&at.place.holder).is_empty()
}

fn of(at: &FaultAt) -> Finding {
    let is_file = matches!(at.place.holder, Holder::File(_));
    let (severity, message, hint) = match &at.fault {
        Fault::Empty if at.place.field.rsplit('/').next() == Some("ca.crt") => {
            (Severity::Warning, "is empty".to_owned(), None)
        }
        Fault::Empty => (Severity::Error, "is empty".to_owned(), None),
        Fault::DoubleEncoded(times) => (
            Severity::Error,
            format!(
                "is in base64 {} too often: Kubernetes and Karmada cannot read it",
                match times {
                    1 => "once".to_owned(),
                    times => format!("{times} times"),
                }
            ),
            Some(
                "decode it before it goes into a Secret: `data` is encoded once, `stringData` not at all",
            ),
        ),
        Fault::Der => (
            match is_file {
                true => Severity::Warning,
                false => Severity::Error,
            },
            "is in DER, and Kubernetes and Karmada read PEM".to_owned(),
            Some("openssl x509 -inform DER -in FILE -out FILE.pem"),
        ),
        Fault::Invisible(reason) => (Severity::Error, reason.clone(), None),
        Fault::PassedOver(reason) => (Severity::Warning, reason.clone(), None),
        Fault::TooLarge(size) => (
            Severity::Unknown,
            format!("has {size} bytes, which is more than is read here"),
            None,
        ),
        Fault::Unparsable(reason) => (Severity::Error, reason.clone(), None),
        Fault::Unopened(name) => (
            Severity::Unknown,
            format!("is {name}, which is not opened here"),
            Some("openssl pkcs12 -in FILE -nokeys -out FILE.pem"),
        ),
    };
    let found = finding(code_of(&at.fault), severity, at.place.subject(), message);
    match hint {
        Some(hint) => found.hint(hint),
        None => found,
    }
}
