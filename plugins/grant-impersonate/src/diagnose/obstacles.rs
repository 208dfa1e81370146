//! The findings about what stands in everybody's way to a member. Pure.

use karmada_repair::finding::{Finding, Severity, Subject};
use karmada_repair::karmada::SyncMode;
use karmada_repair::part::Part;
use karmada_repair::text::shell_word;

use crate::diagnose::{PAGE, UNDELIVERED};
use crate::examine::{Obstacle, expected_reference};
use crate::observed::{Member, Observed};

/// What stands in the way to a member.
pub(super) fn finding(member: &Member, obstacle: &Obstacle, observed: &Observed) -> Finding {
    let about = |severity, message: String| {
        Finding::new(
            PAGE,
            code(obstacle),
            severity,
            Subject::cluster(member.name()),
            message,
        )
    };
    let reference = expected_reference(&member.cluster);
    let secret = format!("{}/{}", reference.namespace, reference.name);
    let commands = &observed.control_plane.commands;
    let own = &observed.control_plane.own_command;
    let name = shell_word(member.name());
    let with_context = format!(
        "give access to the member, so that its token can be read: {own} {name} --cluster-context {name}=CONTEXT"
    );
    let token_hint = match member.true_token {
        Part::Seen(_) => None,
        _ => Some(with_context),
    };
    let hinted = |finding: Finding, hint: Option<String>| match hint {
        Some(hint) => finding.hint(hint),
        None => finding,
    };
    match obstacle {
        Obstacle::BeingDeleted => about(
            Severity::Info,
            "it is being deleted, and is not examined".to_owned(),
        ),
        Obstacle::NoReference => {
            let agent = match member.cluster.spec.sync_mode {
                SyncMode::Pull => "; an agent with --report-secrets=None leaves it so",
                SyncMode::Push => "",
            };
            hinted(
                about(
                    Severity::Error,
                    format!(
                        "its spec.impersonatorSecretRef names no secret, so that nobody passes to it{agent}"
                    ),
                ),
                token_hint,
            )
        }
        Obstacle::SecretMissing => hinted(
            about(
                Severity::Error,
                match &member.secret {
                    Part::Unreadable(reason) => format!(
                        "the control plane finds no token of the impersonator for it, and you cannot look: {reason}"
                    ),
                    _ => {
                        format!("the secret {secret} with the impersonator's token does not exist")
                    }
                },
            ),
            token_hint,
        ),
        Obstacle::SecretEmpty => hinted(
            about(
                Severity::Error,
                format!("the secret {secret} has no token of the impersonator"),
            ),
            token_hint,
        ),
        Obstacle::TokenRejected => {
            let same = member.token_is_the_members_own();
            let message = match same {
                true => format!(
                    "the member answers 401 to the impersonator's token in the secret {secret}, although it holds the same: its service account was made anew"
                ),
                false => format!(
                    "the member answers 401: it does not know the impersonator's token in the secret {secret}"
                ),
            };
            hinted(
                about(Severity::Error, message),
                match same {
                    true => Some(
                        "delete the secret karmada-cluster/karmada-impersonator in the member, create it anew for its service account, and run this again"
                            .to_owned(),
                    ),
                    false => token_hint,
                },
            )
        }
        Obstacle::Unreachable(words) => about(
            Severity::Error,
            format!(
                "the control plane cannot reach it: {words}{}",
                known(member)
            ),
        )
        .hint(format!(
            "{} {name}",
            own.replacen("grant-impersonate", "fix-endpoints", 1)
        )),
        Obstacle::NotReady { reason, since } => {
            let since = since
                .as_ref()
                .map_or(String::new(), |since| format!(" since {since}"));
            about(
                Severity::Error,
                format!(
                    "it is not Ready ({reason}{since}), and nothing is delivered to it until it is{}",
                    known(member)
                ),
            )
            .hint(format!(
                "{} {name}",
                own.replacen("grant-impersonate", "fix-endpoints", 1)
            ))
        }
        Obstacle::Frozen { kinds, by_hand } => frozen(member, kinds, by_hand, observed, &about),
        Obstacle::Undelivered(why) => {
            let finding = about(Severity::Error, why.clone());
            match &observed.controller_manager {
                Part::Absent => finding.hint(format!(
                    "give access to the host cluster, where a restart wakes it: {own} {name} --host-context CONTEXT; or {} -n karmada-system rollout restart deployment karmada-controller-manager",
                    commands.host
                )),
                Part::Seen(_) | Part::Unreadable(_) => finding,
            }
        }
    }
}

fn frozen(
    member: &Member,
    kinds: &[&'static str],
    by_hand: &[String],
    observed: &Observed,
    about: &dyn Fn(Severity, String) -> Finding,
) -> Finding {
    let by_hand = match by_hand {
        [] => String::new(),
        names => format!("; by hand it accepts {}", names.join(", ")),
    };
    let finding = about(
        Severity::Error,
        format!(
            "somebody took the label karmada.io/managed off its {} karmada-impersonator: Karmada leaves it as it is, and no grant arrives{by_hand}",
            kinds.join(" and ")
        ),
    );
    let name = shell_word(member.name());
    match member.copy {
        Part::Seen(_) => finding,
        _ => finding.hint(format!(
            "give access to the member: {} {name} --cluster-context {name}=CONTEXT; or, in the member: kubectl --context CONTEXT label {} karmada-impersonator karmada.io/managed=true",
            observed.control_plane.own_command,
            kinds.join(",").to_lowercase()
        )),
    }
}

/// What the control plane knows of a member that does not answer.
fn known(member: &Member) -> String {
    let work = match &member.role_work {
        Part::Seen(work) => match &work.applied {
            crate::observed::Applied::Yes => "its rules were last applied",
            crate::observed::Applied::No(_) => "its rules could not be applied",
            crate::observed::Applied::Never => "its rules were never applied",
        },
        Part::Absent => "Karmada has made no rules for it",
        Part::Unreadable(_) => return String::new(),
    };
    format!(" (as the control plane has it, {work})")
}

/// The code of what stands in the way.
pub(super) fn code(obstacle: &Obstacle) -> &'static str {
    match obstacle {
        Obstacle::BeingDeleted => "being-deleted",
        Obstacle::NoReference => "impersonator-not-named",
        Obstacle::SecretMissing => "impersonator-secret-missing",
        Obstacle::SecretEmpty => "impersonator-secret-empty",
        Obstacle::TokenRejected => "impersonator-token-rejected",
        Obstacle::Unreachable(_) => "member-unreachable",
        Obstacle::NotReady { .. } => "not-ready",
        Obstacle::Frozen { .. } => "role-frozen",
        Obstacle::Undelivered(_) => UNDELIVERED,
    }
}
