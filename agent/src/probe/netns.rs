//! For tests that need a network namespace of their own: the test's binary runs the test again inside a new one.

use std::{env, io, process::Command};

/// Set for the run inside.
const INSIDE: &str = "PATHWARDEN_TEST_IN_NETNS";

/// Runs what a test awaits.
pub(super) fn block_on(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(test);
}

/// Whether this is the run inside. Otherwise there was one: it has passed, or it was not possible, which is printed.
/// `needs` is a shell command: where it fails, the test could not run.
pub(super) fn inside(test: &str, needs: &str) -> bool {
    if env::var_os(INSIDE).is_some() {
        return true;
    }
    match in_new_namespace("sh").args(["-c", needs]).output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            println!("skipped: {needs}: {}", said.trim());
            return false;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            println!("skipped: there is no unshare");
            return false;
        }
        Err(error) => panic!("unshare cannot be run: {error}"),
    }
    let program = env::current_exe().unwrap();
    let output = in_new_namespace(program)
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let passed = output.status.success() && said.contains("1 passed");
    assert!(
        passed,
        "inside a network namespace:\n{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    false
}

fn in_new_namespace(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--net", "--"]).arg(program);
    command
}
