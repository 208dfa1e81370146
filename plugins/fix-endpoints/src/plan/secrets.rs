//! The steps that bring secrets to what members hold. Pure.

use jiff::Timestamp;
use karmada_repair::cluster::object::ObjectReference;
use karmada_repair::plan::{Action, Server, remove_value, set_value};
use secrecy::ExposeSecret;

use crate::credentials::{self, Renewal};
use crate::diagnose::{
    CLUSTER_ID_STALE, ESTIMATOR_STALE, IMPERSONATOR_NOT_REFERENCED, KUBECONFIG_KEY_EMPTY,
    KUBECONFIG_KEY_STALE, SECRET_MISSING, SECRET_NOT_REFERENCED, wanted_endpoint,
};
use crate::examine::Examination;
use crate::observed::{Member, SecretKubeconfig};
use crate::plan::{Draft, key};
use crate::secret_kubeconfig::{self, Replaced};

impl Draft<'_> {
    /// What the member holds in another version is copied; controllers keep an old CA and token as they keep an old address.
    pub(super) fn renew_credentials(&mut self, member: &Member) {
        let mut renewed = false;
        for rewrite in credentials::rewrites(member, self.now) {
            let of_identity = rewrite.cures.contains(&CLUSTER_ID_STALE);
            // The proxy reads the impersonator's token for each request, and nobody else does.
            let is_kept = |code: &&str| {
                let kept = [Renewal::Authority, Renewal::Token].map(Renewal::code);
                // Access through the proxy is granted by an object that the controllers make once they know of it.
                let made = [
                    SECRET_MISSING,
                    SECRET_NOT_REFERENCED,
                    IMPERSONATOR_NOT_REFERENCED,
                ];
                kept.contains(code) || made.contains(code)
            };
            renewed |= rewrite.cures.iter().any(is_kept);
            let cures = rewrite.cures.iter().map(|code| key(code, member)).collect();
            let caution = of_identity.then(|| {
                "from then on the cluster that this context leads to is the member; nothing else records which it was"
                    .to_owned()
            });
            self.push(member, rewrite.action, rewrite.reason, caution, cures);
        }
        if !renewed {
            return;
        }
        self.credentials_change = true;
        if self.moved.iter().any(|name| name == member.name()) {
            return;
        }
        self.moved.push(member.name().to_owned());
        let (patch, inverse) = self.note(member);
        let action = Action::PatchObject {
            server: Server::ControlPlane,
            object: member.cluster.reference(),
            patch,
            inverse,
        };
        let reason =
            "whether workloads are delivered with the new credentials is open until it is proven"
                .to_owned();
        self.push(member, action, reason, None, Vec::new());
    }

    pub(super) fn tidy_secret(&mut self, member: &Member, examination: &Examination<'_>) {
        let secret = member.secret.seen();
        if let (Some(secret), Some(reference)) = (secret, &member.cluster.spec.secret_ref) {
            let object =
                ObjectReference::secret(reference.namespace.clone(), reference.name.clone());
            match &secret.kubeconfig {
                SecretKubeconfig::Empty => {
                    let (patch, inverse) = remove_value(KUBECONFIG_KEY, "");
                    let action = Action::PatchObject {
                        server: Server::ControlPlane,
                        object,
                        patch,
                        inverse,
                    };
                    let reason =
                        "no version of Karmada reads it, and a recipe left it behind".to_owned();
                    self.push(
                        member,
                        action,
                        reason,
                        None,
                        vec![key(KUBECONFIG_KEY_EMPTY, member)],
                    );
                }
                kubeconfig @ SecretKubeconfig::Kubeconfig { .. } => {
                    let place = (Server::ControlPlane, object, "kubeconfig");
                    let action = rewrite(place, kubeconfig, (member, &[]), examination, self.now);
                    if let Some(action) = action {
                        let reason = "its server is to be the member's address, for whoever uses that kubeconfig".to_owned();
                        self.push(
                            member,
                            action,
                            reason,
                            None,
                            vec![key(KUBECONFIG_KEY_STALE, member)],
                        );
                    }
                }
                SecretKubeconfig::Absent | SecretKubeconfig::Other => {}
            }
        }
        self.redirect_estimator(member, examination);
    }

    /// The scheduler's estimator of a member has a kubeconfig of its own, mounted so that only a new pod reads it.
    fn redirect_estimator(&mut self, member: &Member, examination: &Examination<'_>) {
        let Some(host) = self.observed.host.seen() else {
            return;
        };
        let Some(secret) = host.estimators.get(member.name()) else {
            return;
        };
        let place = (Server::Host, secret.object.clone(), secret.key.as_str());
        let authorities =
            secret_kubeconfig::stale_authorities(&secret.kubeconfig, member, examination, self.now);
        let changed = (member, authorities.as_slice());
        let Some(action) = rewrite(place, &secret.kubeconfig, changed, examination, self.now)
        else {
            return;
        };
        let reason = match authorities.is_empty() {
            true => "the scheduler's estimator dials the member at the server of this kubeconfig",
            false => "the scheduler's estimator dials the member with the server and the CA of this kubeconfig",
        }
        .to_owned();
        self.push(
            member,
            action,
            reason,
            None,
            vec![key(ESTIMATOR_STALE, member)],
        );
        if let Some(workload) = host.estimator(member.name()) {
            self.restart(
                workload,
                "it reads its kubeconfig only when it starts".to_owned(),
            );
        }
    }
}

/// The patch of a kubeconfig in a Secret that has servers, or these CA certificates, to be replaced; `None` = there are none,
/// or it cannot be done without touching more.
fn rewrite(
    (server, object, secret_key): (Server, ObjectReference, &str),
    kubeconfig: &SecretKubeconfig,
    (member, authorities): (&Member, &[String]),
    examination: &Examination<'_>,
    now: Timestamp,
) -> Option<Action> {
    let SecretKubeconfig::Kubeconfig { servers, encoded } = kubeconfig else {
        return None;
    };
    let wanted = wanted_endpoint(member, examination)?;
    let replaced = Replaced {
        servers: secret_kubeconfig::stale_servers(servers, member, &wanted),
        server: wanted.to_string(),
        authorities,
        authority: credentials::authority(member, now).unwrap_or_default(),
    };
    if replaced.servers.is_empty() && authorities.is_empty() {
        return None;
    }
    let encoded = encoded.expose_secret();
    let rewritten = secret_kubeconfig::rewritten(encoded, &replaced)?;
    let path = format!("/data/{secret_key}");
    let (patch, inverse) = set_value(&path, Some(encoded), 0, &rewritten);
    Some(Action::PatchObject {
        server,
        object,
        patch,
        inverse,
    })
}

const KUBECONFIG_KEY: &str = "/data/kubeconfig";
