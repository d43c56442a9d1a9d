//! Process 1 of the lab's guest.

use std::process::ExitCode;

use pathwarden_tests::guest;

fn main() -> ExitCode {
    if std::process::id() != 1 {
        eprintln!(
            "pathwarden-guest is the init of the lab's guest and powers it off; it is not for this machine"
        );
        return ExitCode::from(2);
    }
    if let Err(error) = guest::main() {
        eprintln!("pathwarden-guest: {error:#}");
    }
    let errno = guest::power_off();
    eprintln!("pathwarden-guest: the kernel did not power off: {errno}");
    // An init that ends is a kernel panic, which ends the guest too.
    ExitCode::FAILURE
}
