//! Pods that started before the Secret that they read was written: they go on with what was there before. Pure.

use jiff::Timestamp;
use karmada_repair::part::Part;

use crate::discovery::SecretKey;
use crate::observed::{Instance, PodSeen, Workload};

/// A pod that runs with an older value.
#[derive(Debug, Clone, Copy)]
pub struct Stale<'a> {
    /// The pod.
    pub pod: &'a PodSeen,
    /// What replaces it when it is restarted; `None` = nothing does, as with the pod of a task.
    pub workload: Option<&'a Workload>,
    /// The Secret.
    pub secret: &'a str,
}

/// The pods of an instance that run with an older value of a key of a Secret.
pub fn stale(instance: &Instance) -> Vec<Stale<'_>> {
    let pods = instance.pods.seen().map_or(&[][..], Vec::as_slice);
    pods.iter()
        .filter_map(|pod| {
            let key = pod.reads.iter().find(|key| is_older(instance, pod, key))?;
            Some(Stale {
                pod,
                workload: owner(instance, pod),
                secret: &key.secret,
            })
        })
        .collect()
}

/// The pods that nothing replaces and that read keys: tasks of the Kubernetes executor.
pub fn tasks(instance: &Instance) -> Vec<&PodSeen> {
    let pods = instance.pods.seen().map_or(&[][..], Vec::as_slice);
    pods.iter()
        .filter(|pod| pod.started.is_some() && !pod.reads.is_empty())
        .filter(|pod| owner(instance, pod).is_none())
        .collect()
}

/// The workload whose selector finds the pod.
fn owner<'a>(instance: &'a Instance, pod: &PodSeen) -> Option<&'a Workload> {
    instance.workloads.iter().find(|workload| {
        !workload.selector.is_empty()
            && workload
                .selector
                .iter()
                .all(|(name, value)| pod.labels.get(name) == Some(value))
    })
}

fn is_older(instance: &Instance, pod: &PodSeen, key: &SecretKey) -> bool {
    let secret = instance.secrets.get(&key.secret).and_then(Part::seen);
    let written = secret
        .filter(|secret| secret.keys.contains(&key.key))
        .and_then(|secret| Some((secret.written_at(&key.key)?, secret.created)));
    match (pod.started, written) {
        (Some(started), Some((written, created))) => {
            // What reads a Secret does not start before there is one.
            let may_be_older = created != Some(written) || key.optional;
            predates(started, written, pod.restarted_at, may_be_older)
        }
        _ => false,
    }
}

/// Times of the API have whole seconds. In the same second, where the pod may be older, only a restart that was asked for
/// after the write tells that it is not.
fn predates(
    started: Timestamp,
    written: Timestamp,
    restarted: Option<Timestamp>,
    may_be_older: bool,
) -> bool {
    let (started, written) = (started.as_second(), written.as_second());
    match started == written {
        true => may_be_older && restarted.is_none_or(|restarted| restarted.as_second() < written),
        false => started < written,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_older_if_it_started_before_the_write() {
        let at = |second: i64| Timestamp::from_second(second).expect("it is in range");
        let table = [
            (9, None, true),
            (11, None, false),
            (10, None, true),
            (10, Some(9), true),
            (10, Some(10), false),
            (9, Some(12), true),
        ];
        for (started, restarted, expected) in table {
            let found = predates(at(started), at(10), restarted.map(at), true);
            assert_eq!(found, expected, "{started} {restarted:?}");
            let of_a_new_secret = predates(at(started), at(10), restarted.map(at), false);
            assert_eq!(of_a_new_secret, started < 10, "{started} {restarted:?}");
        }
    }
}
