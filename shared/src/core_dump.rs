//! A process that holds credentials and keys leaves no image of its memory behind.

use rustix::process::{Resource, Rlimit, setrlimit};

/// Switches core dumps off for this process and those that it starts (`RLIMIT_CORE`, setrlimit(2)).
pub(crate) fn switch_off() {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // Lowering a limit needs no right; where it is not known there are no core dumps.
    let _ = setrlimit(Resource::Core, none);
}

#[cfg(test)]
mod tests {
    use rustix::process::getrlimit;

    use super::*;

    #[test]
    fn no_core_is_dumped_once_it_is_switched_off() {
        switch_off();
        assert_eq!(getrlimit(Resource::Core).current, Some(0));
    }
}
