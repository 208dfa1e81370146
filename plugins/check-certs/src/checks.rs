//! What can be wrong with the certificates of a federation, one idea per file. Pure.

mod copies;
mod form;
mod issuer;
mod keys;
mod kubeconfig;
mod names;
mod reading;
mod served;
mod stale;
mod tokens;
mod usage;
mod validity;
mod values;

use karmada_repair::finding::Finding;

pub(crate) use kubeconfig::host_of;

use crate::view::View;

/// Everything that is found, in no order.
pub fn all(view: &View<'_>) -> Vec<Finding> {
    [
        validity::check(view),
        issuer::check(view),
        served::check(view),
        stale::check(view),
        kubeconfig::check(view),
        copies::check(view),
        keys::check(view),
        form::check(view),
        usage::check(view),
        tokens::check(view),
        values::check(view),
        reading::check(view),
    ]
    .concat()
}

#[cfg(test)]
mod tests;
