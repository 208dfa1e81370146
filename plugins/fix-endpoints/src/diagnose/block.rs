//! Findings about what stands in the way of a repair. Pure.

use karmada_repair::docker::membership::Owner;
use karmada_repair::finding::{Finding, Severity};
use karmada_repair::text::shell_word;

use crate::diagnose::about;
use crate::examine::Block;
use crate::observed::{Member, Observed};
use crate::route::{NoRoute, revival};

/// Why nothing can be done for a member, where no other finding tells.
pub(super) fn of_block(member: &Member, block: &Block<'_>, observed: &Observed) -> Option<Finding> {
    let docker = &observed.control_plane.commands.docker;
    let by_hand = by_hand(member);
    Some(match block {
        // The daemon has a finding of its own, once.
        Block::NoDocker(_) => return None,
        Block::NoContainer => about(
            member,
            "container-not-found",
            Severity::Unknown,
            "no container was found for it by its published port, its name or its address".to_owned(),
        )
        .hint(by_hand),
        Block::Ambiguous(candidates) => about(
            member,
            "container-ambiguous",
            Severity::Error,
            format!("several containers could be this member: {}", candidates.join("; ")),
        )
        .hint(by_hand),
        Block::Unproven(evidence, shown) => about(
            member,
            "container-unproven",
            Severity::Unknown,
            format!(
                "only {} says that it is {shown}, and whether its certificate is of this member could not be compared",
                evidence.words()
            ),
        )
        .hint(by_hand),
        Block::OtherAuthority(evidence) => about(
            member,
            "authority-mismatch",
            Severity::Error,
            format!(
                "the container found by {} presents a certificate that the CA stored for this member did not sign: \
                 the member was rebuilt, its CA was rotated, or it is another cluster",
                evidence.words()
            ),
        )
        .hint(format!("if it is another cluster, {by_hand}")),
        Block::OutsideValidity(until) => about(
            member,
            "certificate-outside-validity",
            Severity::Error,
            format!("its serving certificate has expired or is not yet valid by this machine's clock (it ends {until})"),
        )
        .hint("renew it in the member; k3s does so when its server restarts"),
        Block::NoControlPlane(reason) => about(
            member,
            "control-plane-not-found",
            Severity::Unknown,
            format!("whether the control plane shares a network with it cannot be told: {reason}"),
        )
        .hint("name the container that runs the control plane: --control-plane-container NAME, or its cluster: --host-context CONTEXT"),
        Block::NoRoute(NoRoute::NotRunning(servers)) => {
            let states: Vec<String> = servers
                .iter()
                .map(|server| format!("{} is {}", server.name, server.state))
                .collect();
            let finding = about(
                member,
                "container-not-running",
                Severity::Error,
                format!("no server of it runs: {}", states.join(", ")),
            );
            match servers.first() {
                Some(server) => finding.hint(revival(server, docker)),
                None => finding,
            }
        }
        Block::NoRoute(NoRoute::NoNetwork(server, why)) => about(
            member,
            "container-without-network",
            Severity::Error,
            format!("its container {} {why}, so no network can be shared with it", server.name),
        )
        .hint(match Owner::of(server).home_network {
            Some(home) if server.joins_no_network().is_none() => {
                format!("{docker} network connect {} {}", shell_word(&home), shell_word(&server.name))
            }
            _ => by_hand,
        }),
        Block::NoRoute(NoRoute::CannotJoin(node, why)) => about(
            member,
            "control-plane-cannot-join",
            Severity::Error,
            format!("the control plane's container {} {why}, so it can join no network", node.name),
        )
        .hint(format!("{docker} inspect {} shows its state", node.name)),
        Block::NoRoute(NoRoute::NotAnswering(endpoint, tried)) => about(
            member,
            NOT_ANSWERING,
            Severity::Error,
            format!("it would be dialled at {endpoint}, which {}", tried.words()),
        )
        .hint(format!(
            "{docker} exec {} nc -w 2 {} {} tries it again",
            shell_word(&tried.from),
            endpoint.host(),
            endpoint.port()
        )),
        Block::NoRoute(NoRoute::NotRead { addresses, reason }) => {
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            about(
                member,
                "certificate-unreadable",
                Severity::Unknown,
                format!(
                    "whether its certificate names {} cannot be told, because it could not be read from here: {reason}",
                    addresses.join(" or ")
                ),
            )
            .hint(by_hand)
        }
        Block::NoRoute(NoRoute::NotCertified { addresses, served }) => {
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            let recipe = match addresses.first() {
                Some(address) => format!("let the member's certificate name it (k3s: tls-san: [{address}] in its config.yaml.d, then restart it)"),
                None => by_hand,
            };
            let mut finding = about(
                member,
                "certificate-names-no-address",
                Severity::Error,
                format!(
                    "its certificate{} names none of the addresses that it holds: {}",
                    served.words(),
                    addresses.join(", ")
                ),
            )
            .hint(recipe);
            finding.expected = Some(addresses.join(", "));
            finding.actual = Some(served.certificate.names.join(", "));
            finding
        }
    })
}

/// The way out that is always there.
pub(super) fn by_hand(member: &Member) -> String {
    format!(
        "give the address by hand: --endpoint {}=https://HOST:PORT",
        member.name()
    )
}

/// The code of an address that was tried from where the control plane dials, in vain.
pub(super) const NOT_ANSWERING: &str = "address-not-answering";
