//! The certificates that a path may be made of. Pure.

use std::collections::{HashMap, HashSet};

use crate::certificate::{Certificate, Fingerprint};

/// Certificates by their subject, some of them trusted.
#[derive(Debug, Clone, Default)]
pub struct Pool<'a> {
    by_subject: HashMap<&'a [u8], Vec<&'a Certificate>>,
    trusted: HashSet<Fingerprint>,
}

impl<'a> Pool<'a> {
    /// The pool with these trusted.
    pub fn trusting(certificates: impl IntoIterator<Item = &'a Certificate>) -> Pool<'a> {
        let mut pool = Pool::default();
        for certificate in certificates {
            pool.trusted.insert(certificate.fingerprint);
            pool.insert(certificate);
        }
        pool
    }

    /// The pool with these too, as steps between.
    pub fn with(mut self, certificates: impl IntoIterator<Item = &'a Certificate>) -> Pool<'a> {
        for certificate in certificates {
            self.insert(certificate);
        }
        self
    }

    /// Whether nothing is trusted.
    pub fn trusts_nothing(&self) -> bool {
        self.trusted.is_empty()
    }

    /// Whether a certificate is trusted.
    pub fn trusts(&self, fingerprint: &Fingerprint) -> bool {
        self.trusted.contains(fingerprint)
    }

    /// The certificates of a subject; the trusted ones first.
    pub fn named(&self, subject: &[u8]) -> Vec<&'a Certificate> {
        let mut named = self.by_subject.get(subject).cloned().unwrap_or_default();
        named.sort_by_key(|certificate| !self.trusts(&certificate.fingerprint));
        named
    }

    fn insert(&mut self, certificate: &'a Certificate) {
        let named = self
            .by_subject
            .entry(certificate.subject_der.as_slice())
            .or_default();
        if !named
            .iter()
            .any(|other| other.fingerprint == certificate.fingerprint)
        {
            named.push(certificate);
        }
    }
}
