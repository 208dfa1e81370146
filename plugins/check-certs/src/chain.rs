//! Whether a path leads from a certificate to a trusted one, judged by the rules of Go (`crypto/x509`, `Verify`), which Karmada
//! and kubectl follow. Pure.

mod constraints;
mod pool;

use std::cell::RefCell;
use std::collections::HashMap;

use jiff::Timestamp;

use crate::certificate::{Certificate, Defect, Fingerprint, Purpose, Refusal};
use crate::signature::{Signed, signed_with};

pub use pool::Pool;

/// What was found on the way to a trusted certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The path that goes best, from the certificate in question to the trusted one, or as far as it goes.
    pub path: Vec<Fingerprint>,
    /// What Go objects to on that path; empty = it accepts it.
    pub objections: Vec<Objection>,
}

/// Why a path is not accepted, and which certificate on it is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objection {
    /// No certificate bears the name of the issuer.
    NoIssuer,
    /// A certificate bears the name of the issuer, and its key did not make the signature.
    AnotherKey(Fingerprint),
    /// Whether the signature is right cannot be told here; why.
    Unverified(String),
    /// It is signed with MD5 or SHA-1.
    WeakSignature(Fingerprint),
    /// It is signed in a way that Go does not know.
    UnknownSignature(Fingerprint),
    /// An authority has expired.
    Expired(Fingerprint),
    /// An authority is not valid yet.
    NotYetValid(Fingerprint),
    /// An authority does not say that it is one.
    NotAuthority(Fingerprint),
    /// An authority may not sign certificates by its key usage.
    MayNotSign(Fingerprint),
    /// An authority does not allow so long a path.
    TooLong(Fingerprint),
    /// An authority does not allow this name.
    NameNotAllowed(Fingerprint, String),
    /// An authority does not allow this purpose by its extended usages.
    PurposeNotAllowed(Fingerprint),
    /// The key of an authority is of a kind that Go does not know.
    UnusableKey(Fingerprint),
    /// An authority is refused for its form.
    Malformed(Fingerprint, Defect),
}

impl Objection {
    /// How far from acceptance it is, for the choice of the path that is told about.
    fn weight(&self) -> usize {
        match self {
            Objection::NoIssuer => 1000,
            Objection::AnotherKey(_) => 900,
            Objection::Unverified(_) => 1,
            _ => 10,
        }
    }
}

/// Judges paths, and remembers who signed what.
#[derive(Debug, Default)]
pub struct Judge {
    known: RefCell<HashMap<(Fingerprint, Fingerprint), Signed>>,
}

impl Judge {
    /// Looks for the best path from a certificate to a trusted one of the pool. The certificate's own dates, names and form are not
    /// judged here.
    pub fn judge(
        &self,
        leaf: &Certificate,
        pool: &Pool<'_>,
        purpose: Purpose,
        now: Timestamp,
    ) -> Judgement {
        if pool.trusts(&leaf.fingerprint) {
            return Judgement {
                path: vec![leaf.fingerprint],
                objections: Vec::new(),
            };
        }
        let mut search = Search {
            judge: self,
            pool,
            purpose,
            now,
            steps: MOST_STEPS,
            best: None,
        };
        let mut path = vec![leaf];
        search.extend(&mut path, Vec::new());
        let (path, objections) = search
            .best
            .unwrap_or_else(|| (vec![leaf.fingerprint], vec![Objection::NoIssuer]));
        Judgement { path, objections }
    }

    /// Whether one certificate signed another.
    pub fn signed(&self, child: &Certificate, parent: &Certificate) -> Signed {
        let key = (child.fingerprint, parent.fingerprint);
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        let signed = signed_with(child, &parent.public_key);
        self.known.borrow_mut().insert(key, signed.clone());
        signed
    }
}

struct Search<'a> {
    judge: &'a Judge,
    pool: &'a Pool<'a>,
    purpose: Purpose,
    now: Timestamp,
    steps: usize,
    best: Option<(Vec<Fingerprint>, Vec<Objection>)>,
}

impl<'a> Search<'a> {
    fn extend(&mut self, path: &mut Vec<&'a Certificate>, objections: Vec<Objection>) {
        let child: &'a Certificate = path.last().expect("a path begins with the leaf");
        let mut parents = 0;
        for parent in self.pool.named(&child.issuer_der) {
            if self.steps == 0 || path.len() >= LONGEST_PATH {
                break;
            }
            if path
                .iter()
                .any(|on_path| on_path.fingerprint == parent.fingerprint)
            {
                continue;
            }
            self.steps -= 1;
            parents += 1;
            let mut found = objections.clone();
            match self.judge.signed(child, parent) {
                Signed::Yes => {}
                Signed::No => {
                    found.push(Objection::AnotherKey(parent.fingerprint));
                    self.offer(path, found);
                    continue;
                }
                Signed::Unknown(_) if !child.signature_algorithm.is_known_to_go() => {
                    found.push(Objection::UnknownSignature(child.fingerprint));
                }
                Signed::Unknown(_) if child.signature_algorithm.is_weak() => {}
                Signed::Unknown(_) if !parent.public_key.is_known_to_go() => {
                    found.push(Objection::UnusableKey(parent.fingerprint));
                }
                Signed::Unknown(reason) => found.push(Objection::Unverified(reason)),
            }
            if child.signature_algorithm.is_weak() {
                found.push(Objection::WeakSignature(child.fingerprint));
            } else if !child.signature_algorithm.is_known_to_go()
                && !found.contains(&Objection::UnknownSignature(child.fingerprint))
            {
                found.push(Objection::UnknownSignature(child.fingerprint));
            }
            let trusted = self.pool.trusts(&parent.fingerprint);
            self.look_at(parent, path, trusted, &mut found);
            path.push(parent);
            match trusted {
                true => self.offer(path, found),
                false => self.extend(path, found),
            }
            path.pop();
        }
        if parents == 0 {
            let mut found = objections;
            found.push(Objection::NoIssuer);
            self.offer(path, found);
        }
    }

    /// What Go checks of an authority on a path (`isValid`, `CheckSignatureFrom`, `checkChainForKeyUsage`).
    fn look_at(
        &self,
        parent: &Certificate,
        path: &[&Certificate],
        trusted: bool,
        found: &mut Vec<Objection>,
    ) {
        let fingerprint = parent.fingerprint;
        let refused = parent
            .defects
            .iter()
            .find(|defect| defect.refused_by() == Refusal::Go);
        if let Some(defect) = refused {
            found.push(Objection::Malformed(fingerprint, defect.clone()));
        }
        if self.now > parent.not_after {
            found.push(Objection::Expired(fingerprint));
        } else if self.now < parent.not_before {
            found.push(Objection::NotYetValid(fingerprint));
        }
        // A root of version 1 or 2 cannot say that it is a CA.
        let silent_root = trusted && parent.version < 3 && parent.basic_constraints.is_none();
        if !(parent.is_ca() || silent_root) {
            found.push(Objection::NotAuthority(fingerprint));
        } else if parent
            .key_usage
            .is_some_and(|usage| !usage.certificate_sign)
        {
            found.push(Objection::MayNotSign(fingerprint));
        }
        let intermediates = path.len() - 1;
        let allowed = parent
            .basic_constraints
            .as_ref()
            .filter(|constraints| constraints.ca)
            .and_then(|constraints| constraints.path_length);
        if allowed.is_some_and(|allowed| intermediates > allowed as usize) {
            found.push(Objection::TooLong(fingerprint));
        }
        if let Some(constraints) = &parent.name_constraints {
            for certificate in path {
                let names = certificate.names.iter().flatten();
                if let Some(name) = constraints::refused(constraints, names) {
                    found.push(Objection::NameNotAllowed(fingerprint, name));
                }
            }
        }
        if !parent.serves(self.purpose) {
            found.push(Objection::PurposeNotAllowed(fingerprint));
        }
    }

    fn offer(&mut self, path: &[&Certificate], objections: Vec<Objection>) {
        let weight =
            |objections: &[Objection]| -> usize { objections.iter().map(Objection::weight).sum() };
        let better = match &self.best {
            None => true,
            Some((_, best)) => weight(&objections) < weight(best),
        };
        if better {
            let path = path
                .iter()
                .map(|certificate| certificate.fingerprint)
                .collect();
            self.best = Some((path, objections));
        }
    }
}

const LONGEST_PATH: usize = 12;
const MOST_STEPS: usize = 256;
