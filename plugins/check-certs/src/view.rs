//! An observation as the checks look at it: places, pools and judgements made once. Pure.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use karmada_repair::finding::{Finding, Severity, Subject};

use crate::certificate::{Certificate, Fingerprint};
use crate::chain::{Judge, Pool};
use crate::config::Config;
use crate::inventory::{Bundle, Inventory, Role};
use crate::observed::Observed;
use crate::place::{Holder, Place};
use crate::threshold::Stage;

/// An observation with what all checks need of it.
pub struct View<'a> {
    /// What was read.
    pub observed: &'a Observed,
    /// What the flags mean.
    pub config: &'a Config,
    /// The time.
    pub now: Timestamp,
    /// Who signed what.
    pub judge: Judge,
    places: BTreeMap<Fingerprint, Vec<Place>>,
    by_vicinity: HashMap<String, Vec<&'a Bundle>>,
    by_certificate: HashMap<Fingerprint, Vec<&'a Bundle>>,
    authorities: OnceCell<Pool<'a>>,
    everything: OnceCell<Pool<'a>>,
}

impl<'a> View<'a> {
    /// The view at a time.
    pub fn new(observed: &'a Observed, config: &'a Config, now: Timestamp) -> View<'a> {
        let mut by_vicinity: HashMap<String, Vec<&'a Bundle>> = HashMap::new();
        let mut by_certificate: HashMap<Fingerprint, Vec<&'a Bundle>> = HashMap::new();
        for bundle in &observed.inventory.bundles {
            let vicinity = vicinity(&bundle.place.holder);
            by_vicinity.entry(vicinity).or_default().push(bundle);
            for fingerprint in &bundle.certificates {
                by_certificate.entry(*fingerprint).or_default().push(bundle);
            }
        }
        View {
            by_vicinity,
            by_certificate,
            observed,
            config,
            now,
            judge: Judge::default(),
            places: observed.inventory.places(),
            authorities: OnceCell::new(),
            everything: OnceCell::new(),
        }
    }

    /// What was found.
    pub fn inventory(&self) -> &'a Inventory {
        &self.observed.inventory
    }

    /// The certificates, by fingerprint.
    pub fn certificates(&self) -> impl Iterator<Item = &'a Certificate> + use<'a> {
        self.observed.inventory.certificates.values()
    }

    /// The bundles in which certificates are shown to others, each with its first certificate.
    pub fn identities(&self) -> impl Iterator<Item = (&'a Bundle, &'a Certificate)> + use<'a> {
        let inventory = self.inventory();
        inventory
            .bundles
            .iter()
            .filter(|bundle| bundle.role == Role::Identity)
            .filter_map(|bundle| {
                Some((bundle, inventory.certificate(bundle.certificates.first()?)?))
            })
    }

    /// The certificates of a bundle.
    pub fn of<'b>(
        &self,
        bundle: &'b Bundle,
    ) -> impl Iterator<Item = &'a Certificate> + use<'a, 'b> {
        let inventory = self.inventory();
        bundle
            .certificates
            .iter()
            .filter_map(|fingerprint| inventory.certificate(fingerprint))
    }

    /// The certificates of the bundle at a place.
    pub fn at(&self, place: &Place) -> Vec<&'a Certificate> {
        self.beside(&place.holder)
            .iter()
            .filter(|bundle| bundle.place == *place)
            .flat_map(|bundle| self.of(bundle))
            .collect()
    }

    /// The bundles in the same Secret, or in files of the same folder.
    pub fn beside(&self, holder: &Holder) -> &[&'a Bundle] {
        let found = self.by_vicinity.get(&vicinity(holder));
        found.map_or(&[], Vec::as_slice)
    }

    /// The bundles that hold a certificate.
    pub fn holding(&self, fingerprint: &Fingerprint) -> &[&'a Bundle] {
        let found = self.by_certificate.get(fingerprint);
        found.map_or(&[], Vec::as_slice)
    }

    /// All certificates, with every one trusted that is trusted somewhere, and every root that is stored somewhere.
    pub fn everything(&self) -> &Pool<'a> {
        self.everything
            .get_or_init(|| self.authorities().clone().with(self.certificates()))
    }

    /// Every certificate that is trusted somewhere, and every root; nothing that would only lead there.
    pub fn authorities(&self) -> &Pool<'a> {
        self.authorities.get_or_init(|| {
            let trusted = self.trusted(|_| true);
            // What a server shows is not trusted because it shows it.
            let stored = |certificate: &&Certificate| {
                let holding = self.holding(&certificate.fingerprint);
                holding.iter().any(|bundle| bundle.role != Role::Served)
            };
            let roots = self
                .certificates()
                .filter(|certificate| certificate.is_root())
                .filter(stored);
            Pool::trusting(trusted.into_iter().chain(roots))
        })
    }

    /// The certificates that are trusted in these bundles.
    pub fn trusted(&self, within: impl Fn(&Bundle) -> bool) -> Vec<&'a Certificate> {
        self.inventory()
            .bundles
            .iter()
            .filter(|bundle| bundle.role == Role::Trust && within(bundle))
            .flat_map(|bundle| self.of(bundle))
            .collect()
    }

    /// Where a certificate is.
    pub fn places(&self, fingerprint: &Fingerprint) -> &[Place] {
        self.places.get(fingerprint).map_or(&[], Vec::as_slice)
    }

    /// What findings about a certificate are about: its first place.
    pub fn subject(&self, fingerprint: &Fingerprint) -> Subject {
        match self.places(fingerprint).first() {
            Some(place) => place.subject(),
            None => Subject::new("certificate", fingerprint.to_string()),
        }
    }

    /// Where in its life a certificate is.
    pub fn stage(&self, certificate: &Certificate) -> Stage {
        self.config
            .thresholds
            .stage(certificate.not_before, certificate.not_after, self.now)
    }

    /// A finding about a certificate.
    pub fn about(
        &self,
        certificate: &Certificate,
        code: &str,
        severity: Severity,
        message: impl Into<String>,
    ) -> Finding {
        finding(
            code,
            severity,
            self.subject(&certificate.fingerprint),
            message,
        )
    }
}

/// A finding that the plugin's page explains.
pub fn finding(
    code: &str,
    severity: Severity,
    subject: Subject,
    message: impl Into<String>,
) -> Finding {
    Finding::new("check-certs", code, severity, subject, message)
}

/// Whether two holders are one place for a person: the same Secret, or files in one folder.
pub fn beside(one: &Holder, other: &Holder) -> bool {
    vicinity(one) == vicinity(other)
}

/// What is one place for a person: a Secret, or the files of one folder.
fn vicinity(holder: &Holder) -> String {
    match holder {
        Holder::File(path) => {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            format!("folder/{folder}")
        }
        _ => holder.to_string(),
    }
}
