//! The Secret `karmada-cert` that `karmadactl init` makes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use karmada_lab::Cluster;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use serde_json::json;

/// Stores it in the host cluster, with a certificate that ends in so many days and an authority that ends in ten years.
pub(crate) fn store(host: &dyn Cluster, days: i64) {
    let mut authority = parameters("authority of karmada-cert", 3650);
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut leaf = parameters("system:admin", days);
    leaf.subject_alt_names = vec![rcgen::SanType::DnsName(
        "karmada-apiserver.karmada-system.svc".try_into().unwrap(),
    )];
    let leaf = leaf.signed_by(&key, &authority).unwrap();
    let secret = json!({
        "metadata": {"name": "karmada-cert"},
        "data": {
            "ca.crt": STANDARD.encode(authority.pem()),
            "karmada.crt": STANDARD.encode(leaf.pem()),
            "karmada.key": STANDARD.encode(key.serialize_pem()),
        },
    });
    host.create("/api/v1/namespaces/karmada-system/secrets", &secret)
        .unwrap();
}

/// Valid since 300 days ago.
#[allow(
    clippy::disallowed_methods,
    reason = "the plugin under test sees the time of this machine"
)]
fn parameters(name: &str, days: i64) -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name.push(DnType::CommonName, name);
    let day = |days: i64| {
        let time = Timestamp::now() + SignedDuration::from_hours(24 * days);
        let date = time.to_zoned(jiff::tz::TimeZone::UTC).date();
        rcgen::date_time_ymd(
            date.year().into(),
            date.month().try_into().unwrap(),
            date.day().try_into().unwrap(),
        )
    };
    parameters.not_before = day(-300);
    parameters.not_after = day(days);
    parameters
}
