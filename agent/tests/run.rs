//! `pathwarden run` without probes, over a folder that changes while it is looked at.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "in a test a failure is the report"
)]

mod tree;

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, ChildStderr, ChildStdout, Command, Stdio},
};

use serde_json::Value;
use tree::{Unfolded, unfold};

const HOST: &str = "
subsystem 0 nqn=nqn.2023-02.io.simplyblock:pool:lvol:1
  head 1 uuid=00000001-0000-4000-8000-000000000001
  controller 0 address=traddr=10.0.0.1,trsvcid=4426
    leg 1 optimized
  controller 1 address=traddr=10.0.0.5,trsvcid=4426
    leg 1 inaccessible
";

struct Agent {
    child: Child,
    windows: BufReader<ChildStdout>,
    log: BufReader<ChildStderr>,
    /// The log's lines that have been read.
    said: Vec<Value>,
}

impl Agent {
    fn start(sysfs: &Path) -> Self {
        Self::with(sysfs, &[])
    }

    fn with(sysfs: &Path, more: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pathwarden"))
            .args([
                "run",
                "--poll",
                "20",
                "-o",
                "json",
                "--log-format",
                "json",
                "--sysfs",
            ])
            .arg(sysfs)
            .args(more)
            .env_remove("PATHWARDEN_LOG")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let windows = BufReader::new(child.stdout.take().unwrap());
        let log = BufReader::new(child.stderr.take().unwrap());
        let mut agent = Self {
            child,
            windows,
            log,
            said: Vec::new(),
        };
        let ready = agent.logged("ready");
        assert_eq!(ready["fields"]["source"], "poll");
        agent
    }

    /// The next line of the log with this message.
    fn logged(&mut self, message: &str) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(
                self.log.read_line(&mut line).unwrap(),
                0,
                "the log ended before {message}"
            );
            let line: Value = serde_json::from_str(&line).unwrap();
            self.said.push(line.clone());
            if line["fields"]["message"] == message {
                return line;
            }
        }
    }

    fn window(&mut self) -> Value {
        let mut line = String::new();
        self.windows.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn stop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It has ended by itself where a test went well.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn host() -> Unfolded {
    unfold(&tree::parse(HOST).files(), 0)
}

/// Changes a leg's ANA state the way the kernel does: the old text or the new, never half of one.
fn set_ana(host: &Unfolded, controller: u32, state: &str) {
    let leg = format!("class/nvme/nvme{controller}/nvme0c{controller}n1");
    let attribute = fs::canonicalize(host.path().join(leg))
        .unwrap()
        .join("ana_state");
    let new = attribute.with_extension("new");
    fs::write(&new, format!("{state}\n")).unwrap();
    fs::rename(new, attribute).unwrap();
}

#[test]
fn a_cutover_is_one_window_as_exact_as_the_looks_were() {
    let host = host();
    let mut agent = Agent::start(host.path());
    set_ana(&host, 0, "inaccessible");
    std::thread::sleep(std::time::Duration::from_millis(200));
    set_ana(&host, 1, "optimized");
    let window = agent.window();
    assert_eq!(window["class"], "cutover", "{window:#}");
    assert_eq!(window["source"], "poll");
    assert_eq!(window["cause_begin"]["kind"], "ana-log");
    assert_eq!(window["cause_begin"]["endpoint"], "tcp://10.0.0.1:4426");
    assert_eq!(window["cause_end"]["endpoint"], "tcp://10.0.0.5:4426");
    // The true length lies within the two errors, however busy the machine is.
    let (length, error) = (window["duration_ns"].as_u64(), window["error_ns"].as_u64());
    let (length, error) = (length.unwrap(), error.unwrap());
    assert!(length + 2 * error >= 200_000_000, "{length} ± 2 × {error}");
    agent.stop();
    assert!(agent.child.wait().unwrap().success());
}

#[test]
fn what_was_dark_before_and_still_is_at_the_end_is_cut_off_at_both() {
    let host = host();
    set_ana(&host, 0, "inaccessible");
    let mut agent = Agent::start(host.path());
    agent.stop();
    let window = agent.window();
    assert_eq!(window["truncated_begin"], true, "{window:#}");
    assert_eq!(window["truncated_end"], true);
    assert_eq!(window["duration_ns"], Value::Null);
    assert!(window["at_least_ns"].is_u64());
    assert!(agent.child.wait().unwrap().success());
}

#[test]
fn a_folder_that_is_none_ends_it_with_its_name() {
    let output = Command::new(env!("CARGO_BIN_EXE_pathwarden"))
        .args(["run", "--sysfs", "/nonexistent"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("/nonexistent"), "{error}");
}

/// What `pathwarden windows` says of a folder.
fn recorded(folder: &Path) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_pathwarden"))
        .args(["windows", "-o", "json", "--state-dir"])
        .arg(folder)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    document["windows"].as_array().unwrap().clone()
}

/// Waits until the newest of them is as it should be.
fn last_of(folder: &Path, as_it_should: impl Fn(&Value) -> bool) -> Value {
    loop {
        if folder.join("pathwarden.db").exists() {
            match recorded(folder).pop() {
                Some(last) if as_it_should(&last) => return last,
                _ => {}
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn what_is_printed_is_kept_and_what_a_kill_left_open_is_cut_off() {
    let (host, folder) = (host(), tempfile::TempDir::new().unwrap());
    let more = ["--state-dir", folder.path().to_str().unwrap()];
    let mut agent = Agent::with(host.path(), &more);
    set_ana(&host, 0, "inaccessible");
    set_ana(&host, 1, "optimized");
    std::thread::sleep(std::time::Duration::from_millis(100));
    set_ana(&host, 1, "inaccessible");
    let open = last_of(folder.path(), |window| window["open"] == true);
    agent.child.kill().unwrap();
    agent.child.wait().unwrap();
    let mut agent = Agent::with(host.path(), &more);
    // The new one finds the volume dark: a window of its own.
    let own = last_of(folder.path(), |window| window["truncated_begin"] == true);
    assert_eq!(own["open"], true, "{own:#}");
    let windows = recorded(folder.path());
    let cut_off = windows.iter().find(|window| window["id"] == open["id"]);
    let cut_off = cut_off.unwrap();
    assert_eq!(cut_off["open"], false, "{cut_off:#}");
    assert_eq!(cut_off["truncated_end"], true);
    assert_eq!(cut_off["duration_ns"], Value::Null);
    assert_eq!(cut_off["end_ns"], Value::Null);
    agent.stop();
    let printed = agent.window();
    assert!(agent.child.wait().unwrap().success());
    assert_eq!(printed["id"], own["id"]);
    assert_eq!(recorded(folder.path()).last(), Some(&printed));
}

#[test]
fn without_a_store_it_says_so_in_one_line_and_measures() {
    let host = host();
    set_ana(&host, 0, "inaccessible");
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut agent = Agent::with(host.path(), &["--state-dir", file.path().to_str().unwrap()]);
    agent.stop();
    assert_eq!(agent.window()["truncated_begin"], true);
    agent.logged("stopped");
    assert!(agent.child.wait().unwrap().success());
    let messages = agent
        .said
        .iter()
        .map(|line| line["fields"]["message"].as_str());
    let about: Vec<&str> = messages
        .flatten()
        .filter(|message| message.contains("store"))
        .collect();
    let named = format!("no store: making {}", file.path().display());
    assert!(
        about.len() == 1 && about[0].starts_with(&named),
        "{about:?}"
    );
}
