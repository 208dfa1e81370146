use super::*;

/// A plugin that looks, has a format and a `--user` of its own, and repairs nothing.
struct Looks;

#[derive(Debug, clap::Args)]
struct LooksArgs {
    /// Somebody
    #[arg(long)]
    user: Option<String>,
}

impl Repair for Looks {
    const NAME: &'static str = "looks";
    const ABOUT: &'static str = "Look";
    const AFTER_HELP: &'static str = "";
    const REPAIRS: bool = false;
    const OWN_FORMATS: &'static [&'static str] = &["svg"];
    const FAIL_ON: FailOn = FailOn::Warning;
    type Args = LooksArgs;
    type Config = ();
    type Observed = ();

    fn config(_args: LooksArgs) -> Result<(), UsageError> {
        Ok(())
    }

    async fn observe(_: &Access, (): &(), _: Depth) -> Result<(), Failure> {
        Ok(())
    }

    fn diagnose((): &(), (): &(), _: Timestamp) -> Vec<Finding> {
        Vec::new()
    }

    fn plan((): &(), _: &[Finding], (): &(), _: Timestamp) -> Plan {
        Plan::default()
    }

    fn overview((): &(), _: &[Finding], (): &(), _: Timestamp) -> Overview {
        Overview::default()
    }
}

fn matches(words: &str) -> Result<ArgMatches, clap::Error> {
    command::<Looks>().try_get_matches_from(std::iter::once("looks").chain(words.split(' ')))
}

fn options(words: &str) -> RunOptions {
    let matches = matches(words).expect("the words are right");
    RunFlags::from_arg_matches(&matches)
        .expect("the flags are there")
        .resolve(Looks::OWN_FORMATS)
        .expect("they go together")
}

#[test]
fn a_flag_of_the_plugin_takes_the_place_of_the_connections_user() {
    let matches = matches("--user jane --kubeconfig-user admin").expect("both flags are there");
    let line = CommandLine::<LooksArgs>::from_arg_matches(&matches).expect("they are read");
    let connection = line.connection.resolve().expect("they go together");
    assert_eq!(line.plugin.user.as_deref(), Some("jane"));
    assert_eq!(connection.user.as_deref(), Some("admin"));
}

#[test]
fn a_plugin_has_formats_and_a_severity_of_its_own() {
    assert_eq!(options("-o svg").format, Format::Own("svg"));
    assert_eq!(options("-o wide").format, Format::Wide);
    assert_eq!(options("-o wide").fail_on, FailOn::Warning);
    assert_eq!(options("--fail-on never").fail_on, FailOn::Never);
    assert!(matches("-o html").is_err());
}

#[test]
fn flags_of_repairs_are_refused_where_nothing_is_repaired() {
    let typed = |words| flag_of_a_repair::<Looks>(&matches(words).expect("clap knows the flag"));
    assert_eq!(typed("--dry-run"), Some("dry-run".to_owned()));
    assert_eq!(typed("--fail-on error"), None);
    let help = command::<Looks>().render_help().to_string();
    assert!(!help.contains("--undo"), "{help}");
}
