//! `kubectl karmada-pin-mesh`.

use std::process::ExitCode;

use kubectl_karmada_pin_mesh::PinMesh;

fn main() -> ExitCode {
    karmada_repair::driver::main::<PinMesh>()
}
