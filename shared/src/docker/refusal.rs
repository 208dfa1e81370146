//! What a daemon's refusal means. Pure.

/// Why a daemon refused a request, told apart by status and wording.
///
/// The wording changed between the versions 20.10 and 28, so parts of it are matched without regard to case; the
/// status alone says little, 403 stands for three different things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The address is held by another container, or is the gateway, the network's or the broadcast address.
    AddressInUse,
    /// The container is on the network already, with whatever address.
    AlreadyConnected,
    /// The container is not on the network, or as a ghost only.
    NotConnected,
    /// An address was asked for on a network whose subnet Docker chose by itself.
    NoUserSubnet,
    /// The address is none of the network's.
    OutsideSubnet,
    /// The container's network mode is `host`, `none` or `container:ID`.
    NetworkMode,
    /// The container restarts over and over; the attachment was recorded nevertheless.
    Restarting,
    /// There is no such container.
    NoSuchContainer,
    /// There is no such network.
    NoSuchNetwork,
    /// The pool of addresses is exhausted.
    PoolExhausted,
    /// Anything else.
    Other,
}

impl Refusal {
    /// What an answer with this status and message means.
    pub fn of(status: u16, message: &str) -> Refusal {
        let message = message.to_ascii_lowercase();
        let says = |part: &str| message.contains(part);
        match status {
            403 if says("address already in use") => Refusal::AddressInUse,
            403 if says("endpoint with name") && says("already exists") => {
                Refusal::AlreadyConnected
            }
            404 if says("network sandbox") => Refusal::Restarting,
            404 if says("no such container") => Refusal::NoSuchContainer,
            404 if says("network") && says("not found") => Refusal::NoSuchNetwork,
            _ if says("is not connected to") => Refusal::NotConnected,
            _ if says("user configured subnets") || says("user defined networks only") => {
                Refusal::NoUserSubnet
            }
            _ if says("does not belong to any of this network's subnets")
                || says("no configured subnet or ip-range contain") =>
            {
                Refusal::OutsideSubnet
            }
            _ if says("private (none) mode") || says("sharing network namespace") => {
                Refusal::NetworkMode
            }
            _ if says("no available ipv4 addresses") => Refusal::PoolExhausted,
            _ => Refusal::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_refusals_apart_in_the_words_of_every_version() {
        let cases = [
            (403, "Address already in use", Refusal::AddressInUse),
            (
                403,
                "failed to set up container networking: Address already in use",
                Refusal::AddressInUse,
            ),
            (
                403,
                "endpoint with name probe-a already exists in network probe-mesh",
                Refusal::AlreadyConnected,
            ),
            (
                403,
                "Pool overlaps with other one on this address space",
                Refusal::Other,
            ),
            (
                400,
                "user specified IP address is supported only when connecting to networks with user configured subnets",
                Refusal::NoUserSubnet,
            ),
            (
                400,
                "invalid endpoint settings:\nuser specified IP address is supported only when connecting to networks with user configured subnets",
                Refusal::NoUserSubnet,
            ),
            (
                400,
                "user specified IP address is supported on user defined networks only",
                Refusal::NoUserSubnet,
            ),
            (
                500,
                "Invalid address 172.30.0.10: It does not belong to any of this network's subnets",
                Refusal::OutsideSubnet,
            ),
            (
                400,
                "invalid endpoint settings:\nno configured subnet or ip-range contain the IP address 172.30.0.10",
                Refusal::OutsideSubnet,
            ),
            (404, "network X not found", Refusal::NoSuchNetwork),
            (404, "No such container: X", Refusal::NoSuchContainer),
            (
                404,
                "network sandbox for container abc not found",
                Refusal::Restarting,
            ),
            (
                400,
                "container cannot be connected to multiple networks with one of the networks in private (none) mode",
                Refusal::NetworkMode,
            ),
            (
                400,
                "container sharing network namespace with another container or host cannot be connected to any other network",
                Refusal::NetworkMode,
            ),
            (
                500,
                "container abc is not connected to network X",
                Refusal::NotConnected,
            ),
            (
                500,
                "no available IPv4 addresses on this network's address pools: X (abc)",
                Refusal::PoolExhausted,
            ),
            (500, "", Refusal::Other),
        ];
        for (status, message, expected) in cases {
            assert_eq!(Refusal::of(status, message), expected, "{status} {message}");
        }
    }
}
