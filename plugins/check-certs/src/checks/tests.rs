use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};

use jiff::{SignedDuration, Timestamp};
use karmada_repair::finding::{Severity, Subject};
use karmada_repair::part::Part;

use crate::config::Config;
use crate::diagnose::diagnose;
use crate::material::Expectation;
use crate::observed::{Observed, Probe, Reading, Server, Source, Target, Way};
use crate::place::{Holder, Origin, Place};
use crate::threshold::{Threshold, Thresholds};

type Ca = CertifiedIssuer<'static, KeyPair>;

fn now() -> Timestamp {
    "2026-06-01T00:00:00Z".parse().expect("a literal time")
}

fn config() -> Config {
    Config {
        paths: Vec::new(),
        endpoints: Vec::new(),
        clusters: Vec::new(),
        thresholds: Thresholds {
            warn: None,
            fail: Threshold::Duration(SignedDuration::ZERO),
        },
        concurrency: 1,
        probe_timeout: std::time::Duration::from_secs(1),
        probe: false,
    }
}

fn params(name: &str, names: &[&str], year: i32) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).expect("the names are valid");
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = rcgen::date_time_ymd(2026, 1, 1);
    params.not_after = rcgen::date_time_ymd(year, 1, 1);
    params
}

fn key() -> KeyPair {
    KeyPair::generate().expect("the provider makes keys")
}

fn ca(name: &str) -> Ca {
    let mut params = params(name, &[], 2036);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    CertifiedIssuer::self_signed(params, key()).expect("an authority signs itself")
}

/// A certificate in PEM.
fn leaf(ca: &Ca, key: &KeyPair, params: CertificateParams) -> String {
    params.signed_by(key, ca).expect("an authority signs").pem()
}

fn secret(name: &str) -> Holder {
    Holder::Secret {
        origin: Origin::Host,
        namespace: "karmada-system".to_owned(),
        name: name.to_owned(),
    }
}

fn der(pem: &str) -> Vec<u8> {
    use base64::Engine;
    let text: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    base64::engine::general_purpose::STANDARD
        .decode(text)
        .expect("PEM holds base64")
}

struct World {
    observed: Observed,
}

impl World {
    fn new() -> World {
        let mut observed = Observed::default();
        observed.sources.push(Source {
            subject: Subject::new("namespace", "karmada-system"),
            state: Reading::Read,
        });
        World { observed }
    }

    fn put(mut self, holder: &Holder, field: &str, value: &str) -> World {
        let inventory = &mut self.observed.inventory;
        inventory.add(holder, field, value.as_bytes(), Expectation::of(field));
        self
    }

    fn shows(mut self, host: &str, pem: &str, trusted_by: Vec<Place>) -> World {
        let holder = Holder::Endpoint(format!("{host}:5443"));
        let shown = self.observed.inventory.add_served(&holder, &[der(pem)]);
        self.observed.probes.push(Probe {
            target: Target {
                holder,
                way: Way::Direct,
                host: host.to_owned(),
                dialled: host.to_owned(),
                port: 5443,
                trusted_by,
                verified: true,
                named: true,
                server: Server::ControlPlane,
            },
            shown: Part::Seen(shown),
        });
        self
    }

    /// What is found, as `SUBJECT severity code`, but for what is only told.
    fn found(&self) -> Vec<String> {
        diagnose(&self.observed, &config(), now())
            .iter()
            .filter(|finding| finding.severity > Severity::Info)
            .map(|finding| {
                format!(
                    "{} {} {}",
                    finding.key.subject,
                    finding.severity.word(),
                    finding.key.code
                )
            })
            .collect()
    }
}

fn kubeconfig(name: &str) -> (Holder, Place) {
    let holder = Holder::Kubeconfig(name.to_owned());
    let place = holder.at("certificate-authority-data");
    (holder, place)
}

#[test]
fn a_server_is_judged_by_what_its_clients_trust() {
    let (right, wrong) = (ca("ca"), ca("ca"));
    let served = leaf(
        &right,
        &key(),
        params("apiserver", &["10.0.0.1", "localhost"], 2027),
    );
    let (holder, place) = kubeconfig("admin");
    let world = |authority: &Ca, host: &str| {
        World::new()
            .put(&holder, "certificate-authority-data", &authority.pem())
            .shows(host, &served, vec![place.clone()])
            .found()
    };
    assert_eq!(world(&right, "10.0.0.1"), [""; 0]);
    assert_eq!(
        world(&right, "10.0.0.2"),
        ["endpoint/10.0.0.2:5443 error name-not-covered"]
    );
    assert_eq!(
        world(&wrong, "localhost"),
        ["kubeconfig/admin/certificate-authority-data error stale-ca"]
    );
}

#[test]
fn a_server_needs_a_certificate_for_servers_with_names() {
    let ca = ca("ca");
    let mut client = params("x", &["localhost"], 2027);
    client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let (holder, place) = kubeconfig("admin");
    let world = |params: CertificateParams| {
        World::new()
            .put(&holder, "certificate-authority-data", &ca.pem())
            .shows("localhost", &leaf(&ca, &key(), params), vec![place.clone()])
            .found()
    };
    assert_eq!(world(client), ["endpoint/localhost:5443 error wrong-usage"]);
    assert_eq!(
        world(params("localhost", &[], 2027)),
        ["endpoint/localhost:5443 error common-name-only"]
    );
}

#[test]
fn a_renewal_that_is_not_served_is_told() {
    let (ca, key) = (ca("ca"), key());
    let old = leaf(&ca, &key, params("apiserver", &["localhost"], 2027));
    let new = leaf(&ca, &key, params("apiserver", &["localhost"], 2028));
    let (holder, place) = kubeconfig("admin");
    let world = |served: &str| {
        World::new()
            .put(&secret("karmada-cert"), "ca.crt", &ca.pem())
            .put(&secret("karmada-cert"), "apiserver.crt", &new)
            .put(&holder, "certificate-authority-data", &ca.pem())
            .shows("localhost", served, vec![place.clone()])
            .found()
    };
    assert_eq!(world(&new), [""; 0]);
    assert_eq!(
        world(&old),
        ["endpoint/localhost:5443 warning old-certificate-served"]
    );
}

#[test]
fn a_bundle_of_a_former_authority_is_told_without_asking_any_server() {
    let (former, now) = (ca("karmada"), ca("karmada"));
    let webhook = Holder::Object {
        origin: Origin::ControlPlane,
        kind: "validatingwebhookconfiguration".to_owned(),
        name: "validating-config".to_owned(),
    };
    let world = |bundle: &str| {
        World::new()
            .put(&secret("karmada-webhook-cert"), "ca.crt", &now.pem())
            .put(
                &secret("karmada-webhook-cert"),
                "tls.crt",
                &leaf(&now, &key(), params("webhook", &["localhost"], 2027)),
            )
            .put(&webhook, "w/caBundle", bundle)
            .found()
    };
    assert_eq!(world(&now.pem()), [""; 0]);
    assert_eq!(world(&format!("{}{}", former.pem(), now.pem())), [""; 0]);
    assert_eq!(
        world(&former.pem()),
        ["validatingwebhookconfiguration/validating-config/w/caBundle error stale-ca"]
    );
}

#[test]
fn a_kubeconfig_with_a_former_client_certificate_is_told() {
    use base64::Engine;
    let (ca, key) = (ca("ca"), key());
    let old = leaf(&ca, &key, params("system:admin", &[], 2027));
    let new = leaf(&ca, &key, params("system:admin", &[], 2028));
    let world = |client: &str| {
        let encoded = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
        let config = format!(
            "apiVersion: v1\nkind: Config\nclusters: []\nusers:\n- name: u\n  user:\n    client-certificate-data: {}\n    client-key-data: {}\n",
            encoded(client),
            encoded(&key.serialize_pem())
        );
        World::new()
            .put(&secret("karmada-cert"), "ca.crt", &ca.pem())
            .put(&secret("karmada-cert"), "karmada.crt", &new)
            .put(&secret("a-config"), "karmada.config", &config)
            .found()
    };
    assert_eq!(world(&new), [""; 0]);
    assert_eq!(
        world(&old),
        [
            "secret/karmada-system/a-config/karmada.config/users[u]/client-certificate-data warning kubeconfig-certificate-differs"
        ]
    );
}

#[test]
fn an_expired_authority_beside_its_successor_is_only_told() {
    let keys = key();
    let issue = |year: i32| {
        let mut params = params("ca", &[], year);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params
            .self_signed(&keys)
            .expect("an authority signs itself")
            .pem()
    };
    let (old, new) = (issue(2025), issue(2036));
    let world = |bundle: &str| World::new().put(&secret("s"), "ca.crt", bundle).found();
    assert_eq!(world(&format!("{old}{new}")), [""; 0]);
    assert_eq!(
        world(&old),
        ["secret/karmada-system/s/ca.crt error expired"]
    );
}

#[test]
fn ten_thousand_secrets_are_judged_in_seconds() {
    let (ca, keys) = (ca("ca"), key());
    let mut world = World::new().put(&secret("karmada-cert"), "ca.crt", &ca.pem());
    let shared = leaf(&ca, &keys, params("shared", &["localhost"], 2027));
    for index in 0..10_000 {
        let certificate = match index % 10 {
            0 => leaf(
                &ca,
                &keys,
                params(&format!("leaf-{index}"), &["localhost"], 2027),
            ),
            _ => shared.clone(),
        };
        world = world.put(&secret(&format!("s-{index}")), "tls.crt", &certificate);
    }
    let started = std::time::Instant::now();
    assert_eq!(world.found(), [""; 0]);
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

#[test]
fn a_run_that_looked_at_nothing_is_unknown() {
    let observed = Observed::default();
    let found = diagnose(&observed, &config(), now());
    assert_eq!(found[0].key.code, "not-examined");
    assert_eq!(found[0].severity, Severity::Unknown);
}

#[test]
fn a_server_does_not_vouch_for_itself() {
    let (stored, shown) = (ca("ca"), ca("self"));
    let world = |world: World| world.shows("localhost", &shown.pem(), Vec::new()).found();
    let told = world(World::new().put(&secret("s"), "ca.crt", &stored.pem()));
    assert!(
        told.contains(&"endpoint/localhost:5443 error issuer-not-found".to_owned()),
        "{told:?}"
    );
    let known = world(World::new().put(&secret("s"), "ca.crt", &shown.pem()));
    assert!(
        !known.iter().any(|found| found.contains("issuer-not-found")),
        "{known:?}"
    );
}
