//! `kubectl karmada-shared-fernet`.

use std::process::ExitCode;

use kubectl_karmada_shared_fernet::SharedFernet;

fn main() -> ExitCode {
    karmada_repair::driver::main::<SharedFernet>()
}
