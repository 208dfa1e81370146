//! What to do about a finding, by how Karmada was installed. Pure; only commands that exist.

use karmada_repair::finding::Finding;
use karmada_repair::text::shell_word;

use crate::install::Install;
use crate::observed::{Observed, Server};

/// What to do; `None` = nothing is known to help.
pub fn of(observed: &Observed, finding: &Finding) -> Option<String> {
    let subject = &finding.key.subject;
    let code = finding.key.code.as_str();
    if let Some(manager) = observed.managers.get(&owner(&subject.name)) {
        let renewable = matches!(
            code,
            "expired" | "expiring" | "ca-ends-first" | "validity-reversed"
        );
        if renewable {
            let (namespace, _) = subject.name.split_once('/')?;
            return Some(format!(
                "cmctl renew --namespace {} {}, since cert-manager owns this Secret",
                shell_word(namespace),
                shell_word(manager)
            ));
        }
    }
    let about = About::of(observed, finding);
    match code {
        "expired" | "expiring" | "validity-reversed" | "weak-signature" | "weak-key"
        | "unsupported-signature" | "malformed" | "key-mismatch" | "ca-ends-first" | "ca-expired" => {
            renewal(observed, finding, &about)
        }
        "not-yet-valid" | "ca-not-yet-valid" | "token-not-yet-valid" => {
            Some("date -u, to compare this machine's clock with the right time".to_owned())
        }
        "old-certificate-served" => restart(observed, &about),
        "stale-ca" => stale(observed, finding),
        "kubeconfig-certificate-differs" => Some(
            "copy the newer certificate into the kubeconfig as docs/check-certs.md#kubeconfigs tells, then restart its component"
                .to_owned(),
        ),
        "name-not-covered" | "common-name-only" => Some(match &about {
            About::Member(_) => "add the address to the member's serving certificate: k3s --tls-san ADDRESS, kubeadm certSANs; or dial it by a name that is there (kubectl karmada-fix-endpoints)".to_owned(),
            _ => format!("sign the serving certificate again with the address among its names, as docs/check-certs.md#{} tells", anchor(observed)),
        }),
        "token-expired" | "token-expiring" => Some(match &about {
            About::Member(member) => format!("kubectl karmada-fix-endpoints {}", shell_word(member)),
            _ => "docs/check-certs.md#tokens".to_owned(),
        }),
        "empty-value" | "double-encoded" | "unparsable" | "der-encoded" => None,
        _ => None,
    }
}

/// Whose a finding is.
enum About {
    Component(String),
    ControlPlane,
    Member(String),
    Host,
    Karmada,
    Other,
}

impl About {
    fn of(observed: &Observed, finding: &Finding) -> About {
        let subject = &finding.key.subject;
        if let Some(member) = observed.member_of(subject) {
            return About::Member(member);
        }
        let probe = observed
            .probes
            .iter()
            .find(|probe| probe.target.holder.at("").subject() == *subject);
        match probe.map(|probe| &probe.target.server) {
            Some(Server::Component(name)) => About::Component(name.clone()),
            Some(Server::ControlPlane) => About::ControlPlane,
            Some(Server::Host) => About::Host,
            Some(Server::Member(name)) => About::Member(name.clone()),
            Some(Server::Given) => About::Other,
            None if subject.kind == "secret" => About::Karmada,
            None => About::Other,
        }
    }
}

fn renewal(observed: &Observed, finding: &Finding, about: &About) -> Option<String> {
    Some(match about {
        About::Member(_) => "on the member: kubeadm certs renew all and restart its control plane, or restart k3s, which renews what ends within 90 days".to_owned(),
        About::Host => "renew it as the host cluster's own: kubeadm certs renew all, or restart k3s".to_owned(),
        About::Karmada => format!(
            "{} --namespace {} get secrets --output yaml > karmada-secrets.yaml, as a backup; then sign it again with its own key as docs/check-certs.md#{} tells",
            observed.commands.host,
            shell_word(finding.key.subject.name.split('/').next().unwrap_or("karmada-system")),
            anchor(observed)
        ),
        About::ControlPlane | About::Component(_) => format!(
            "sign it again with its own key as docs/check-certs.md#{} tells",
            anchor(observed)
        ),
        About::Other if finding.key.subject.kind == "file" => {
            format!("sign it again with its own key as docs/check-certs.md#{} tells", anchor(observed))
        }
        About::Other => return None,
    })
}

fn restart(observed: &Observed, about: &About) -> Option<String> {
    let namespace = observed.namespace.as_deref().unwrap_or("karmada-system");
    let workload = match about {
        About::ControlPlane => "deployment/karmada-apiserver".to_owned(),
        About::Component(name) if name.contains("etcd") => format!("statefulset/{name}"),
        About::Component(name) => format!("deployment/{name}"),
        _ => return None,
    };
    Some(format!(
        "{} --namespace {} rollout restart {}",
        observed.commands.host,
        shell_word(namespace),
        shell_word(&workload)
    ))
}

fn stale(observed: &Observed, finding: &Finding) -> Option<String> {
    if let Some(member) = observed.member_of(&finding.key.subject) {
        return Some(format!(
            "kubectl karmada-fix-endpoints {}",
            shell_word(&member)
        ));
    }
    Some(format!(
        "put the CA that signs now there, beside the old one, as docs/check-certs.md#{} tells",
        "copies-of-the-ca"
    ))
}

fn anchor(observed: &Observed) -> &'static str {
    observed.install.map_or("renewal-by-hand", Install::anchor)
}

/// `namespace/name` of a subject that names a key of a Secret.
fn owner(name: &str) -> String {
    name.splitn(3, '/').take(2).collect::<Vec<_>>().join("/")
}
