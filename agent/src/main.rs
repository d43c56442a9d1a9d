//! The pathwarden command.

use std::process::ExitCode;

fn main() -> ExitCode {
    pathwarden::cli::main()
}
