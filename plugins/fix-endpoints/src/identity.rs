//! Which of the containers is the member: evidence proposes, the CA that the control plane stores decides. Pure.

use jiff::Timestamp;
use karmada_repair::docker::model::Container;
use karmada_repair::tls::Verdict;

use crate::credentials;
use crate::observed::Member;
use crate::place::{Evidence, Home, candidates};

/// The answer to which containers are the member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity<'a> {
    /// These: what they serve is signed by the CA that is stored for the member.
    Proven(Home<'a>),
    /// These, by the name of their cluster; or they do not run, so that nothing is written because of them.
    Likely(Home<'a>),
    /// Perhaps these, but only a port or an address says so.
    Unproven(Home<'a>),
    /// One of these, and nothing tells which.
    Ambiguous(Vec<String>),
    /// None of those that could be it: another CA signed what they serve. How the first of them was found.
    Strangers(Evidence),
    /// No container could be it.
    NotFound,
}

/// Finds the member among the containers.
pub fn identify<'a>(member: &Member, containers: &'a [Container], now: Timestamp) -> Identity<'a> {
    let candidates = candidates(member.name(), member.endpoint().as_ref(), containers);
    let Some(first) = candidates.first() else {
        return Identity::NotFound;
    };
    let found_by = first.evidence;
    let judged: Vec<(Option<Verdict>, Home<'a>)> = candidates
        .into_iter()
        .map(|home| (judgement(member, &home, now), home))
        .collect();
    if let Some((_, home)) = judged
        .iter()
        .find(|(verdict, _)| *verdict == Some(Verdict::Valid))
    {
        return Identity::Proven(home.clone());
    }
    let open: Vec<Home<'a>> = judged
        .into_iter()
        .filter(|(verdict, _)| *verdict != Some(Verdict::UnknownAuthority))
        .map(|(_, home)| home)
        .collect();
    let Some(best) = open.first().map(|home| home.evidence) else {
        return Identity::Strangers(found_by);
    };
    let mut equals: Vec<Home<'a>> = open
        .into_iter()
        .filter(|home| home.evidence == best)
        .collect();
    if equals.len() > 1 && equals.iter().any(|home| home.is_namesake) {
        equals.retain(|home| home.is_namesake);
    }
    match equals.as_slice() {
        [home] if home.is_namesake || !home.runs() => Identity::Likely(home.clone()),
        [home] => Identity::Unproven(home.clone()),
        several => Identity::Ambiguous(several.iter().map(|home| home.shown.clone()).collect()),
    }
}

/// How the CA that the control plane stores, or is to store, judges what the containers serve; `None` when one of both was not read.
pub fn judgement(member: &Member, home: &Home<'_>, now: Timestamp) -> Option<Verdict> {
    let certificate = member.certificate_of(home)?;
    let authority = credentials::authority(member, now)?;
    Some(credentials::judged(certificate, &authority, now))
}
