//! Why a key cannot be written where an instance reads it. Pure.

use karmada_repair::part::Part;

use crate::airflow::KeyKind;
use crate::discovery::Source;
use crate::group::Chosen;
use crate::observed::Observed;

/// Why the key of an instance cannot be changed by writing a Secret, without a final period; `None` = it can.
pub fn blocked(chosen: Chosen<'_>, kind: KeyKind, observed: &Observed) -> Option<String> {
    let instance = chosen.instance;
    let namespace = &instance.namespace;
    let uses = instance.keys.get(&kind)?;
    for one in uses {
        let Source::SecretKey(key) = &one.source else {
            return Some(format!(
                "it comes from {}, not from a Secret",
                one.source.place(namespace)
            ));
        };
        match instance.secrets.get(&key.secret) {
            Some(Part::Unreadable(reason)) => {
                return Some(format!(
                    "secret/{namespace}/{} cannot be read: {reason}",
                    key.secret
                ));
            }
            Some(Part::Seen(secret)) if secret.immutable => {
                return Some(format!(
                    "secret/{namespace}/{} is immutable: another key needs a Secret of another name",
                    key.secret
                ));
            }
            Some(Part::Seen(secret)) if secret.karmada_managed => {
                match observed
                    .templates
                    .get(&format!("{namespace}/{}", key.secret))
                {
                    Some(Part::Seen(_)) => {}
                    _ => {
                        return Some(format!(
                            "Karmada keeps secret/{namespace}/{}, and the control plane's own cannot be read",
                            key.secret
                        ));
                    }
                }
            }
            _ => {}
        }
    }
    None
}
