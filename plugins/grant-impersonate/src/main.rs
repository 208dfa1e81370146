//! `kubectl karmada-grant-impersonate`.

use std::process::ExitCode;

use kubectl_karmada_grant_impersonate::GrantImpersonate;

fn main() -> ExitCode {
    karmada_repair::driver::main::<GrantImpersonate>()
}
