//! The story of `karmada-fix-endpoints`.

use std::time::Duration;

use karmada_lab::Federation;

use crate::commands::Commands;
use crate::screen::Screen;

/// Shows the fault, the plan, the repair and that nothing is left to do.
///
/// # Errors
/// When the repair did not do what it should.
pub(crate) fn tell(
    screen: &Screen,
    federation: &Federation,
    commands: &Commands,
) -> Result<(), String> {
    let teller = Teller {
        screen,
        federation,
        commands,
    };
    let host = federation.spec().host.context();
    let examine = [PLUGIN, "--host-context", &host];
    let repair = [PLUGIN, "--host-context", &host, "--yes"];

    screen.line("Three k3d clusters: karmada-host runs Karmada, cluster-a and cluster-b joined with their k3d kubeconfigs.");
    screen.line("(An embedded stand-in plays Docker and Kubernetes; no cluster is needed and none is touched.)");
    screen.line("");
    teller.clusters()?;
    screen.line(
        "Karmada dials https://0.0.0.0:PORT: right on the workstation, wrong inside its container.",
    );
    screen.line("Without confirmation the plugin only says what is wrong and what it would do:");
    screen.line("");
    let code = teller.run(&examine)?;
    if code != Some(1) {
        let shown = shown(code);
        return Err(format!(
            "{PLUGIN} was to find faults and exit with 1; it exited with {shown}"
        ));
    }
    if !federation.writes().is_empty() {
        return Err(format!("{PLUGIN} wrote without confirmation"));
    }
    screen.line("With confirmation it repairs, and proves it:");
    screen.line("");
    let code = teller.run(&repair)?;
    if code != Some(0) {
        return Err(format!("{PLUGIN} --yes exited with {}", shown(code)));
    }
    teller.clusters()?;
    for member in &federation.spec().members {
        if !federation.wait_ready(member.name(), READY) {
            return Err(format!("{} is still not Ready", member.name()));
        }
    }
    screen.line("A second run finds nothing to do and writes nothing:");
    screen.line("");
    let before = federation.writes().len();
    let code = teller.run(&repair)?;
    if code != Some(0) || federation.writes().len() != before {
        let shown = shown(code);
        return Err(format!(
            "the second run of {PLUGIN} was to change nothing; it exited with {shown}"
        ));
    }
    Ok(())
}

const PLUGIN: &str = "karmada-fix-endpoints";
/// How long a member that was said to be repaired may take to be Ready.
const READY: Duration = Duration::from_secs(5);

struct Teller<'a> {
    screen: &'a Screen,
    federation: &'a Federation,
    commands: &'a Commands,
}

impl Teller<'_> {
    /// Shows a command as a user would type it, and what it really says.
    fn run(&self, arguments: &[&str]) -> Result<Option<i32>, String> {
        self.screen
            .line(&format!("$ kubectl {}", arguments.join(" ")));
        let said = self.commands.kubectl(arguments)?;
        self.screen.line(&said.text);
        self.screen.line("");
        Ok(said.code)
    }

    fn clusters(&self) -> Result<(), String> {
        if self.commands.has_kubectl() {
            return self.run(&["get", "clusters"]).map(|_| ());
        }
        self.screen.line("$ kubectl get clusters");
        self.screen.line(&self.federation.cluster_table());
        self.screen.line("");
        Ok(())
    }
}

fn shown(code: Option<i32>) -> String {
    code.map_or_else(|| "a signal".to_owned(), |code| code.to_string())
}
