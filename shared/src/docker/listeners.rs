//! The TCP ports on which something listens inside a container. Pure but for the request.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::docker::client::Docker;

impl Docker {
    /// The TCP ports on which something in a running container listens, at addresses that others reach.
    ///
    /// # Errors
    /// In words, what the daemon refuses, or what the container lacks.
    pub async fn listening_ports(&self, container: &str) -> Result<BTreeSet<u16>, String> {
        let command = ["cat", "/proc/net/tcp", "/proc/net/tcp6"];
        let ended = self
            .output(container, &command, ALLOWED)
            .await
            .map_err(|error| error.to_string())?;
        match ended.stdout.is_empty() {
            // Without IPv6 the second file is missing, which is no matter.
            false => Ok(listening(&ended.stdout)),
            true => Err(format!(
                "the container's list of sockets cannot be read: cat ended with {}",
                ended.code
            )),
        }
    }
}

/// Reads `/proc/net/tcp` and `/proc/net/tcp6`: state `0A` is a socket that listens.
fn listening(text: &str) -> BTreeSet<u16> {
    text.lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let [_, local, _, "0A", ..] = fields.as_slice() else {
                return None;
            };
            let (address, port) = local.rsplit_once(':')?;
            let port = u16::from_str_radix(port, 16).ok()?;
            (!LOOPBACKS.contains(&address)).then_some(port)
        })
        .collect()
}

/// 127.0.0.1 and ::1 as the kernel of a little-endian machine writes them.
const LOOPBACKS: [&str; 2] = ["0100007F", "00000000000000000000000001000000"];

const ALLOWED: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_that_others_reach_are_told() {
        let text = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:192B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   1: 0100007F:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1
   2: 020014AC:A3F2 030014AC:192B 01 00000000:00000000 00:00000000 00000000     0        0 3 1
  sl  local_address                         remote_address                        st
   0: 00000000000000000000000000000000:192C 00000000000000000000000000000000:0000 0A 0 0
";
        assert_eq!(listening(text), BTreeSet::from([6443, 6444]));
        assert!(listening("").is_empty());
    }
}
