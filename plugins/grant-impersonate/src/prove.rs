//! The proof that an identity reaches the members that it was given access to.

use futures::future::join_all;
use karmada_repair::access::Access;
use karmada_repair::clock;
use karmada_repair::driver::{ProofResult, Until};
use karmada_repair::part::Part;
use karmada_repair::plan::Proof;

use crate::account::Identity;
use crate::answer::Answer;
use crate::examine::{Obstacle, obstacle};
use crate::observe::{rights_are_asked_for, rights_of, tried};
use crate::observed::Observed;

/// Asks each member as the identity that the proof is about. Nothing is written.
pub(crate) async fn prove(
    access: &Access,
    observed: &Observed,
    proof: &Proof,
    until: Until<'_>,
) -> ProofResult {
    let identity = observed
        .identities
        .iter()
        .find(|identity| identity.account.subject() == proof.subject);
    let Some(identity) = identity else {
        return ProofResult::Impossible("nobody of that name is meant".to_owned());
    };
    let now = clock::now();
    let members: Vec<&str> = observed
        .members
        .iter()
        .filter(|member| {
            matches!(
                obstacle(member, observed, now),
                None | Some(Obstacle::Frozen { .. })
            )
        })
        .map(|member| member.name())
        .collect();
    if members.is_empty() {
        return ProofResult::Impossible(
            "no member can be reached; what is granted takes effect when they can".to_owned(),
        );
    }
    let with_rights = rights_are_asked_for(&observed.identities, members.len());
    let asked = join_all(
        members
            .iter()
            .map(|member| ask(access, identity, member, with_rights)),
    );
    let asked = tokio::select! {
        asked = asked => asked,
        () = tokio::time::sleep(until.deadline.left()) => {
            return ProofResult::Impossible("no answer came in time".to_owned());
        }
        _ = until.interrupt.wait() => return ProofResult::Skipped("interrupted".to_owned()),
    };
    told(&members, &asked)
}

async fn ask(
    access: &Access,
    identity: &Identity,
    member: &str,
    with_rights: bool,
) -> (Answer, Option<String>) {
    let answer = tried(access, identity, member).await;
    let rights = match answer.passes() && with_rights {
        true => match rights_of(access, identity, member).await {
            Part::Seen(rights) => Some(rights.words().to_owned()),
            Part::Absent | Part::Unreadable(_) => None,
        },
        false => None,
    };
    (answer, rights)
}

fn told(members: &[&str], asked: &[(Answer, Option<String>)]) -> ProofResult {
    let words = |(member, (answer, rights)): (&&str, &(Answer, Option<String>))| {
        let may = rights
            .as_ref()
            .map_or(String::new(), |rights| format!(", may {rights}"));
        format!("{member} answers {}{may}", answer.words())
    };
    let all: Vec<String> = members.iter().zip(asked).map(words).collect();
    if asked.iter().all(|(answer, _)| answer.passes()) {
        return ProofResult::Passed(all.join("; "));
    }
    let unknown = |answer: &Answer| matches!(answer, Answer::MayNotTry { .. } | Answer::Odd { .. });
    let failed: Vec<String> = members
        .iter()
        .zip(asked)
        .filter(|(_, (answer, _))| !answer.passes())
        .map(|(member, (answer, _))| format!("{member}: {}", said(answer)))
        .collect();
    match asked
        .iter()
        .all(|(answer, _)| answer.passes() || unknown(answer))
    {
        true => ProofResult::Impossible(failed.join("; ")),
        false => ProofResult::Failed(failed.join("; ")),
    }
}

fn said(answer: &Answer) -> String {
    match answer {
        Answer::NotLetThrough { message }
        | Answer::NotAccepted { message, .. }
        | Answer::NoRights { message }
        | Answer::MayNotTry { message }
        | Answer::NoCredentials { message }
        | Answer::Unreachable { message }
        | Answer::Odd { message } => message.clone(),
        Answer::Passes { .. } | Answer::TokenRejected | Answer::NoCluster => answer.words(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes() -> (Answer, Option<String>) {
        (
            Answer::Passes { milliseconds: 7 },
            Some("list pods".to_owned()),
        )
    }

    #[test]
    fn a_proof_names_every_member_with_its_time() {
        let told = told(&["a", "b"], &[passes(), passes()]);
        assert_eq!(
            told,
            ProofResult::Passed(
                "a answers 200 in 7 ms, may list pods; b answers 200 in 7 ms, may list pods"
                    .to_owned()
            )
        );
    }

    #[test]
    fn one_refusal_fails_and_one_unknown_leaves_it_open() {
        let refused = (
            Answer::NotAccepted {
                lacking: None,
                message: "no".to_owned(),
            },
            None,
        );
        let open = (
            Answer::MayNotTry {
                message: "may not".to_owned(),
            },
            None,
        );
        assert_eq!(
            told(&["a", "b"], &[passes(), refused]),
            ProofResult::Failed("b: no".to_owned())
        );
        assert_eq!(
            told(&["a", "b"], &[passes(), open]),
            ProofResult::Impossible("b: may not".to_owned())
        );
    }
}
