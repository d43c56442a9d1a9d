//! What people and programs see of `windows`, from the sample of a store.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "in a test a failure is the report"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// A folder with a sample, brought up to date.
fn sample() -> TempDir {
    let folder = TempDir::new().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/store");
    fs::copy(fixtures.join("v1.db"), folder.path().join("pathwarden.db")).unwrap();
    drop(pathwarden::store::Store::open(folder.path()).unwrap());
    folder
}

fn windows(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pathwarden"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PATHWARDEN_")) {
        command.env_remove(name);
    }
    command
        .arg("windows")
        .args(arguments)
        .env("TZ", "UTC")
        .output()
        .unwrap()
}

fn of(folder: &TempDir, arguments: &[&str]) -> (i32, String) {
    let output = windows(&[&["--state-dir", folder.path().to_str().unwrap()], arguments].concat());
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

#[test]
fn windows_are_rows_and_the_newest_is_the_last() {
    let (exit, text) = of(&sample(), &[]);
    assert_eq!(exit, 0);
    insta::assert_snapshot!(text);
}

#[test]
fn json_is_the_windows_as_they_were_printed() {
    let (exit, text) = of(&sample(), &["-o", "json"]);
    assert_eq!(exit, 0);
    insta::assert_snapshot!(text);
}

#[test]
fn only_what_is_asked_for_is_listed() {
    let folder = sample();
    let rows = |arguments: &[&str]| {
        let (exit, text) = of(&folder, arguments);
        assert_eq!(exit, 0);
        let lengths = text
            .lines()
            .map(|row| row.split("  ").nth(1).unwrap_or(row));
        lengths.map(str::trim).collect::<Vec<_>>().join(", ")
    };
    let (cutover, cut_off, open) = ("2.018 s", "≥ 1.200 s", "open 3.2 s");
    assert_eq!(rows(&["--class", "cutover"]), cutover);
    assert_eq!(rows(&["--limit", "2"]), format!("{cut_off}, {open}"));
    assert_eq!(
        rows(&["--longer-than", "1500ms"]),
        format!("{cutover}, {open}")
    );
    // The first lasted from 18:00:10 to 18:00:12.018, the second began at 18:00:20.
    for (since, expected) in [
        (
            "2026-11-30T18:00:12Z",
            format!("{cutover}, {cut_off}, {open}"),
        ),
        ("2026-11-30T19:00:13+01:00", format!("{cut_off}, {open}")),
        ("365000d", format!("{cutover}, {cut_off}, {open}")),
    ] {
        assert_eq!(rows(&["--since", since]), expected, "{since}");
    }
    assert_eq!(rows(&["--subsystem", "nqn.x:another"]), "no windows");
}

#[test]
fn a_damaged_row_is_told_beside_the_others() {
    let folder = sample();
    let raw = rusqlite::Connection::open(folder.path().join("pathwarden.db")).unwrap();
    let damage = "UPDATE windows SET document = '{' WHERE class = 'cutover'";
    assert_eq!(raw.execute(damage, []).unwrap(), 1);
    drop(raw);
    let (exit, text) = of(&folder, &[]);
    assert_eq!(exit, 3);
    insta::assert_snapshot!(text);
    let (exit, json) = of(&folder, &["-o", "json"]);
    assert_eq!(exit, 3);
    let document: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["windows"].as_array().unwrap().len(), 2);
    assert_eq!(document["unchecked"].as_array().unwrap().len(), 1);
}

#[test]
fn a_hostile_text_cannot_drive_the_terminal() {
    let folder = sample();
    let raw = rusqlite::Connection::open(folder.path().join("pathwarden.db")).unwrap();
    let hostile = "UPDATE windows SET document = replace(document, 'nqn.2023', '\\u001b[2J')";
    assert_eq!(raw.execute(hostile, []).unwrap(), 3);
    drop(raw);
    let (_, text) = of(&folder, &[]);
    assert!(
        !text.contains('\u{1b}') && text.contains("\\u{1b}[2J"),
        "{text}"
    );
}

#[test]
fn a_store_that_is_not_there_is_named_with_how_to_get_one() {
    let folder = TempDir::new().unwrap();
    let output = windows(&["--state-dir", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(4));
    assert!(output.stdout.is_empty());
    let error = String::from_utf8(output.stderr).unwrap();
    let path = folder.path().join("pathwarden.db").display().to_string();
    assert!(
        error.contains(&path) && error.contains("pathwarden run"),
        "{error}"
    );
}

#[test]
fn the_settings_say_where_it_is_and_the_flag_overrules_them() {
    let (folder, elsewhere) = (sample(), TempDir::new().unwrap());
    let config = elsewhere.path().join("config.toml");
    let text = format!("[store]\npath = \"{}\"\n", folder.path().display());
    fs::write(&config, text).unwrap();
    let config = config.to_str().unwrap();
    assert_eq!(windows(&["--config", config]).status.code(), Some(0));
    let flag = elsewhere.path().to_str().unwrap();
    let output = windows(&["--config", config, "--state-dir", flag]);
    assert_eq!(output.status.code(), Some(4));
}

#[test]
fn what_cannot_be_asked_for_is_wrong_usage() {
    for arguments in [
        ["--since", "yesterday"],
        ["--longer-than", "3"],
        ["--class", "migration"],
        ["--limit", "0"],
    ] {
        let output = windows(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(arguments[1]), "{error}");
    }
}
