//! `kubectl karmada-check-certs`.

use std::process::ExitCode;

use kubectl_karmada_check_certs::CheckCerts;

fn main() -> ExitCode {
    karmada_repair::driver::main::<CheckCerts>()
}
