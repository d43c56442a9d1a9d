//! What people and programs see of `status` and `inspect`.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "in a test a failure is the report"
)]

mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use tree::{Unfolded, unfold};

fn fixture(name: &str) -> Unfolded {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/sysfs");
    let text = fs::read_to_string(path.join(format!("{name}.tree"))).unwrap();
    of_text(text.split("\n== ").next().unwrap())
}

fn of_text(text: &str) -> Unfolded {
    unfold(&tree::parse(text).files(), 0)
}

/// The desired state of a fixture, as if it had been fetched now.
fn desired(name: &str, folder: &TempDir) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/sysfs");
    let text = fs::read_to_string(path.join(format!("{name}.tree"))).unwrap();
    let section = text
        .split("\n== ")
        .find_map(|section| section.strip_prefix("desired"))
        .unwrap();
    let now = jiff::Timestamp::now();
    let file = folder.path().join("desired.toml");
    fs::write(&file, format!("fetched_at = \"{now}\"\n{section}")).unwrap();
    file
}

fn pathwarden(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pathwarden"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PATHWARDEN_")) {
        command.env_remove(name);
    }
    command.args(arguments).output().unwrap()
}

fn on(tree: &Unfolded, arguments: &[&str]) -> (i32, String) {
    let sysfs = tree.path().to_str().unwrap();
    let output = pathwarden(&[&["--sysfs", sysfs], arguments].concat());
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

/// Generations are inodes, of which a test knows nothing.
fn without_generations(json: &str) -> String {
    let lines = json.lines().map(|line| match line.split_once("\"gen\": ") {
        Some((indent, number)) if number.trim_end_matches(',').parse::<u64>().is_ok() => {
            format!("{indent}\"gen\": \"[generation]\",")
        }
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

mod status {
    use super::*;

    #[test]
    fn a_healthy_host_is_a_tree() {
        let (exit, text) = on(&fixture("healthy"), &["status"]);
        assert_eq!(exit, 0);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_dark_namespace_stands_out() {
        insta::assert_snapshot!(on(&fixture("dark"), &["status"]).1);
    }

    #[test]
    fn drives_beside_volumes_are_listed() {
        insta::assert_snapshot!(on(&fixture("pcie-mixed"), &["status"]).1);
    }

    #[test]
    fn without_multipath_disks_are_legs() {
        insta::assert_snapshot!(on(&fixture("multipath-off"), &["status"]).1);
    }

    #[test]
    fn odd_values_are_typed_and_trimmed() {
        insta::assert_snapshot!(on(&fixture("odd-values"), &["status"]).1);
    }

    #[test]
    fn what_could_not_be_read_is_said_and_is_the_exit_code() {
        let (exit, text) = on(&fixture("unattached"), &["status"]);
        assert_eq!(exit, 3);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn json_is_as_documented() {
        let (exit, text) = on(&fixture("odd-values"), &["status", "-o", "json"]);
        assert_eq!(exit, 0);
        insta::assert_snapshot!(without_generations(&text));
    }

    #[test]
    fn two_runs_print_the_same() {
        for name in ["odd-values", "healthy-capture", "pcie-mixed"] {
            let tree = fixture(name);
            let first = on(&tree, &["status", "-o", "json"]);
            assert_eq!(on(&tree, &["status", "-o", "json"]), first);
        }
    }

    #[test]
    fn names_sort_by_number() {
        let tree = of_text(
            "subsystem 10 nqn=nqn.x:b\nhead 1\ncontroller 10 address=traddr=10.0.0.1,trsvcid=1\nleg 1 optimized\n\
             controller 2 address=traddr=10.0.0.2,trsvcid=1\nleg 1 optimized\nsubsystem 9 nqn=nqn.x:a\n",
        );
        let (_, text) = on(&tree, &["status"]);
        let at = |name: &str| text.find(name).unwrap();
        assert!(at("nvme-subsys9 ") < at("nvme-subsys10"));
        assert!(at("nvme10c2n1") < at("nvme10c10n1"));
    }

    #[test]
    fn no_nvme_at_all_is_clean() {
        let empty = TempDir::new().unwrap();
        let output = pathwarden(&[
            "--sysfs",
            empty.path().to_str().unwrap(),
            "status",
            "-o",
            "json",
        ]);
        assert_eq!(output.status.code(), Some(0));
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["counts"]["subsystems"], 0);
        assert_eq!(document["subsystems"], serde_json::json!([]));
        assert_eq!(document["kernel"], serde_json::Value::Null);
    }

    #[test]
    fn a_hostile_text_cannot_drive_the_terminal() {
        let tree = of_text("subsystem 0 nqn=nqn.x:\u{1b}[2J\nhead 1\n");
        let (_, text) = on(&tree, &["status"]);
        assert!(
            !text.contains('\u{1b}') && text.contains("\\u{1b}[2J"),
            "{text}"
        );
    }

    #[test]
    fn a_megabyte_a_zero_byte_and_loops_of_links_do_no_harm() {
        let tree = fixture("healthy");
        let controller = tree.path().join("class/nvme/nvme0");
        fs::write(controller.join("hostid"), "x".repeat(1 << 20)).unwrap();
        fs::write(controller.join("cntrltype"), "i\0o\n").unwrap();
        std::os::unix::fs::symlink(".", tree.path().join("class/nvme/class")).unwrap();
        std::os::unix::fs::symlink("nvme6", tree.path().join("class/nvme/nvme6")).unwrap();
        let (exit, text) = on(&tree, &["status"]);
        assert_eq!(exit, 3);
        assert!(
            text.contains("hostid: longer than an attribute can be"),
            "{text}"
        );
        assert!(text.contains("nvme6  not opened: ELOOP"), "{text}");
        assert!(text.contains("2 controllers"), "{text}");
    }

    #[test]
    fn the_nodes_kernel_comes_from_its_root() {
        let root = TempDir::new().unwrap();
        let tree = fixture("healthy");
        fs::create_dir_all(root.path().join("proc/sys/kernel/random")).unwrap();
        fs::write(
            root.path().join("proc/sys/kernel/osrelease"),
            "6.12.117+deb13-amd64\n",
        )
        .unwrap();
        fs::write(
            root.path().join("proc/sys/kernel/random/boot_id"),
            "b-o-o-t\n",
        )
        .unwrap();
        std::os::unix::fs::symlink(tree.path(), root.path().join("sys")).unwrap();
        let output = pathwarden(&[
            "--root",
            root.path().to_str().unwrap(),
            "status",
            "-o",
            "json",
        ]);
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["kernel"], "6.12.117+deb13-amd64");
        assert_eq!(document["boot_id"], "b-o-o-t");
        assert_eq!(document["counts"]["controllers"], 2);
    }
}

mod inspect {
    use super::*;

    #[test]
    fn a_healthy_host_has_no_findings() {
        let (exit, text) = on(&fixture("healthy"), &["inspect"]);
        assert_eq!(exit, 0);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_dark_namespace_is_told_first_and_why() {
        let (exit, text) = on(&fixture("dark"), &["inspect"]);
        assert_eq!(exit, 1);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_superseded_endpoint_is_told_with_what_would_be_done() {
        let folder = TempDir::new().unwrap();
        let file = desired("superseded", &folder);
        let arguments = ["inspect", "--desired", file.to_str().unwrap()];
        let (exit, text) = on(&fixture("superseded"), &arguments);
        assert_eq!(exit, 1);
        insta::assert_snapshot!(text);
        let (_, json) = on(
            &fixture("superseded"),
            &[&arguments[..], &["-o", "json"]].concat(),
        );
        insta::assert_snapshot!(json);
    }

    #[test]
    fn a_missing_namespace_names_its_co_tenants() {
        let arguments = [
            "inspect",
            "nqn.2019-01.com.example:vol-1",
            "--namespace",
            "3",
        ];
        let (exit, text) = on(&fixture("namespace-missing"), &arguments);
        assert_eq!(exit, 1);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_husk_is_told_by_its_familys_profile() {
        insta::assert_snapshot!(on(&fixture("not-contributing-profile"), &["inspect"]).1);
    }

    #[test]
    fn what_could_not_be_read_outranks_what_was_found() {
        assert_eq!(on(&fixture("unattached"), &["inspect"]).0, 3);
    }

    #[test]
    fn a_subsystem_that_is_not_there_was_not_checked() {
        let (exit, text) = on(&fixture("healthy"), &["inspect", "nqn.x:none"]);
        assert_eq!(exit, 3);
        assert!(
            text.contains("nqn.x:none") && text.contains("no such subsystem on this host"),
            "{text}"
        );
    }

    #[test]
    fn no_nvme_at_all_is_clean() {
        assert_eq!(on(&fixture("nothing"), &["inspect"]).0, 0);
    }

    #[test]
    fn secrets_are_in_no_output() {
        const SECRET: &str = "DHHC-1:00:EXAMPLE:";
        let tree = fixture("dark");
        for controller in ["nvme0", "nvme1"] {
            for name in ["dhchap_secret", "dhchap_ctrl_secret", "tls_key"] {
                fs::write(
                    tree.path().join("class/nvme").join(controller).join(name),
                    SECRET,
                )
                .unwrap();
            }
        }
        for command in ["status", "inspect"] {
            for format in ["text", "json"] {
                let (_, text) = on(&tree, &[command, "-o", format]);
                assert!(!text.contains("EXAMPLE"), "{text}");
            }
        }
    }

    #[test]
    fn what_the_node_says_is_heard() {
        let root = TempDir::new().unwrap();
        let tree = fixture("superseded");
        let folder = TempDir::new().unwrap();
        let file = desired("superseded", &folder);
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        std::os::unix::fs::symlink(tree.path(), root.path().join("sys")).unwrap();
        write("proc/1/mountinfo", "");
        write(
            "etc/nvme/hostnqn",
            "nqn.2014-08.org.nvmexpress:uuid:aaaaaaaa-0000-4000-8000-00000000000a\n",
        );
        let reason = || {
            let output = pathwarden(&[
                "--root",
                root.path().to_str().unwrap(),
                "inspect",
                "-o",
                "json",
                "--desired",
                file.to_str().unwrap(),
            ]);
            let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(document["unchecked"], serde_json::json!([]));
            document["findings"][0]["verdict"]["reason"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(reason(), "history-incomplete");
        write("run/nvme/registry/nvme2/owner", "stas\n");
        assert_eq!(reason(), "owned-by-other");
        write(
            "etc/nvme/exclusions.conf",
            "[exclusions]\nexclusion = transport=tcp;traddr=10.0.0.3\n",
        );
        assert_eq!(reason(), "excluded");
        write("etc/nvme/hostnqn", "nqn.x:another-host\n");
        assert_eq!(reason(), "foreign-host");
    }
}

mod usage {
    use super::*;

    fn refused(arguments: &[&str]) -> String {
        let output = pathwarden(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
        String::from_utf8(output.stderr).unwrap()
    }

    #[test]
    fn a_tree_that_is_no_directory_is_wrong_usage() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for path in [file.path().to_str().unwrap(), "/nonexistent"] {
            let error = refused(&["--sysfs", path, "status"]);
            assert!(
                error.contains(&format!("opening the sysfs directory {path}")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_desired_state_of_a_wrong_type_names_file_line_and_field() {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("desired.toml");
        let text = "fetched_at = \"2026-01-01T00:00:00Z\"\n[[subsystem]]\nnqn = \"nqn.x:a\"\npublished = 7\n";
        fs::write(&file, text).unwrap();
        let tree = fixture("healthy");
        let error = refused(&[
            "--sysfs",
            tree.path().to_str().unwrap(),
            "inspect",
            "--desired",
            file.to_str().unwrap(),
        ]);
        assert!(
            error.contains(
                "desired.toml:4: subsystem[0].published: expected a list, found an integer"
            ),
            "{error}"
        );
    }

    #[test]
    fn a_namespace_without_its_subsystem_cannot_be_asked_for() {
        assert!(refused(&["inspect", "--namespace", "1"]).contains("NQN"));
        assert!(
            refused(&["inspect", "nqn.x:a", "--namespace", "first"])
                .contains("neither a namespace's UUID")
        );
    }
}
