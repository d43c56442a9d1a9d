//! Running other programs, so that a failure says what was being done and by which command line.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result, bail};

/// Runs a program that speaks to the terminal itself.
pub(crate) fn run(command: &mut Command, doing: &str) -> Result<()> {
    let status = command
        .status()
        .map_err(|error| not_started(command, error))
        .context(doing.to_owned())?;
    if !status.success() {
        bail!("{doing}: `{}` ended with {status}", line(command));
    }
    Ok(())
}

/// Runs a program quietly and returns what it printed; what it complained about goes into the error.
pub(crate) fn capture(command: &mut Command, doing: &str) -> Result<String> {
    let output = output(command, doing)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!(
            "{doing}: `{}` ended with {}: {}",
            line(command),
            output.status,
            said.trim()
        );
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("{doing}: `{}` did not print text", line(command)))
}

/// Runs a program quietly, whatever its exit status.
pub(crate) fn output(command: &mut Command, doing: &str) -> Result<Output> {
    command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| not_started(command, error))
        .context(doing.to_owned())
}

/// This tool chain's cargo, the one that built and started xtask.
pub(crate) fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(crate::workspace::root());
    command
}

fn not_started(command: &Command, error: std::io::Error) -> anyhow::Error {
    let program = command.get_program().display();
    if error.kind() == ErrorKind::NotFound {
        anyhow::anyhow!("{program} is not installed (`cargo xtask setup` installs what is missing)")
    } else {
        anyhow::Error::new(error).context(format!("starting {program}"))
    }
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_program_is_named_with_its_arguments_and_its_complaint() {
        let error = capture(Command::new("ls").arg("/no/such/folder"), "listing")
            .unwrap_err()
            .to_string();

        assert!(
            error.starts_with("listing: `ls /no/such/folder` ended with exit status: 2"),
            "{error}"
        );
        assert!(error.contains("No such file"), "{error}");
    }

    #[test]
    fn a_missing_program_points_to_the_set_up() {
        let error = run(&mut Command::new("no-such-program"), "trying").unwrap_err();

        assert_eq!(
            format!("{error:#}"),
            "trying: no-such-program is not installed (`cargo xtask setup` installs what is missing)"
        );
    }
}
