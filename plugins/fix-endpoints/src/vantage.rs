//! Whether an address answers from where the control plane dials: tried inside its container, with whatever is there.

use std::net::IpAddr;

use karmada_repair::docker::client::Docker;
use karmada_repair::docker::reach::reach;
use serde::Serialize;

pub use karmada_repair::docker::reach::Reach;

/// An attempt to reach an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tried {
    /// The container in which it was made.
    pub from: String,
    /// What came of it.
    pub reach: Reach,
}

impl Tried {
    /// What came of it, as the end of `ADDRESS ...`.
    pub fn words(&self) -> String {
        let from = &self.from;
        match &self.reach {
            Reach::Open => format!("answers from inside {from}"),
            Reach::Refused => format!("refuses connections from inside {from}"),
            Reach::NoAnswer => format!("does not answer from inside {from}"),
            Reach::NoTool => format!("was not tried, for lack of a program for that in {from}"),
            Reach::Untried(why) => format!("was not tried from inside {from}: {why}"),
        }
    }
}

/// Tries an address and a port from inside a container of this ID and name.
pub async fn look(docker: &Docker, (id, name): (&str, &str), address: IpAddr, port: u16) -> Tried {
    Tried {
        from: name.to_owned(),
        reach: reach(docker, id, address, port).await,
    }
}
