//! `cargo bench -p kubectl-karmada-fix-endpoints`: how long start-up and a diagnosis take, how much memory and how many
//! requests, beside a `kubectl get clusters` in the same run. Prints figures; judges none.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark prints, and ends where something is not there"
)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use karmada_lab::{Federation, MemberSpec, Spec};

const PLUGIN: &str = env!("CARGO_BIN_EXE_kubectl-karmada_fix_endpoints");
const RUNS: usize = 40;

fn main() {
    let size = std::fs::metadata(PLUGIN).unwrap().len();
    println!(
        "binary                      {:.2} MiB",
        size as f64 / f64::from(1 << 20)
    );
    let version = median(|| run(Command::new(PLUGIN).arg("--version")));
    println!("--version                   {}", shown(version.time));
    for members in [3, 100] {
        overview(members);
    }
}

fn overview(members: usize) {
    let spec = Spec::with_members((0..members).map(|index| {
        let (high, low) = (100 + index / 250, index % 250);
        MemberSpec::k3d(&format!("member-{index}")).subnet(&format!("10.{high}.{low}.0/24"))
    }));
    let federation = Federation::start(spec).unwrap();
    let command = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(federation.environment())
            .args(arguments);
        command
    };
    federation.forget_requests();
    run(&mut command(PLUGIN, &[]));
    let requests = federation.requests();
    let count = |wanted: &dyn Fn(&str) -> bool| {
        requests
            .iter()
            .filter(|request| !request.own && wanted(&request.server))
            .count()
    };
    let docker = count(&|server| server == "docker");
    let kubernetes = count(&|server| server != "docker");
    let diagnosis = median(|| run(&mut command(PLUGIN, &[])));
    println!(
        "diagnosis, {members:3} members       {}, {} MB at most, {kubernetes} Kubernetes requests, {docker} Docker requests",
        shown(diagnosis.time),
        diagnosis.peak / 1000
    );
    if kubectl_is_there(&federation) {
        let kubectl = median(|| run(&mut command("kubectl", &["get", "clusters"])));
        let ratio = kubectl.time.as_secs_f64() / diagnosis.time.as_secs_f64();
        println!(
            "kubectl get clusters        {}: {ratio:.1} times the diagnosis",
            shown(kubectl.time)
        );
    }
}

struct Figures {
    time: Duration,
    /// Most resident memory in kB, as far as it was seen while the process ran.
    peak: u64,
}

fn run(command: &mut Command) -> Figures {
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        peak = peak.max(resident(Path::new(&status)));
        std::thread::sleep(Duration::from_micros(200));
    }
    Figures {
        time: started.elapsed(),
        peak,
    }
}

fn resident(status: &Path) -> u64 {
    let text = std::fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or_default()
}

fn median(mut measured: impl FnMut() -> Figures) -> Figures {
    let mut all: Vec<Figures> = (0..RUNS).map(|_| measured()).collect();
    all.sort_by_key(|figures| figures.time);
    let peak = all
        .iter()
        .map(|figures| figures.peak)
        .max()
        .unwrap_or_default();
    Figures {
        time: all[RUNS / 2].time,
        peak,
    }
}

fn kubectl_is_there(federation: &Federation) -> bool {
    let mut command = Command::new("kubectl");
    command
        .env_clear()
        .envs(federation.environment())
        .args(["version", "--client"]);
    command.output().is_ok_and(|output| output.status.success())
}

fn shown(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}
