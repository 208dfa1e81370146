//! `kubectl karmada-fix-endpoints`.

use std::process::ExitCode;

use kubectl_karmada_fix_endpoints::FixEndpoints;

fn main() -> ExitCode {
    karmada_repair::driver::main::<FixEndpoints>()
}
