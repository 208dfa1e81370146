//! Certificates made by the `openssl` program, one folder for each case, judged here and by `openssl verify`.

mod cases;
mod folder;
mod openssl;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

use crate::cases::Case;
use crate::folder::Folder;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let missing = openssl::missing();
    let trials = cases::all()
        .map(|case| {
            let name = match (&missing, in_ci()) {
                (Some(reason), false) => format!("{} ({reason})", case.name),
                _ => case.name.to_owned(),
            };
            Trial::test(name, || run(case)).with_ignored_flag(missing.is_some() && !in_ci())
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn run(case: &Case) -> Result<(), Failed> {
    if let Some(reason) = openssl::missing() {
        return Err(reason.into());
    }
    let folder = Folder::new();
    (case.make)(&folder);
    let found = folder.examined(case.now);
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    if found != case.expected {
        return Err(format!("found {found:#?}, expected {:#?}", case.expected).into());
    }
    if let Some(expected) = case.openssl {
        let verified = folder.openssl_verifies(case.now);
        if verified.is_ok() != expected {
            return Err(format!("openssl verify says {verified:?}").into());
        }
    }
    Ok(())
}

/// Where a missing program is a failure.
#[expect(
    clippy::disallowed_methods,
    reason = "tests may look at their environment"
)]
fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}
