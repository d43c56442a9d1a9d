//! Whole trees: a host whose attributes hold anything, or are missing. The scan must name what it cannot read, its
//! document must read back, and nothing may be proposed without a past.
#![no_main]

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use pathwarden::config::built_in_profiles;
use pathwarden::diagnose::{Expectation, Node, Past, Policy, Subject, Verdict, diagnose};
use pathwarden::fabric::{Host, UnixNs};
use pathwarden::host::SysRoot;
use pathwarden::host::sysfs::Scanner;
use tempfile::TempDir;

const SUBSYSTEM: [(&str, &str); 5] = [
    ("subsysnqn", "nqn.2023-02.io.simplyblock:pool:lvol:1"),
    ("subsystype", "nvm"),
    ("model", "Example"),
    ("serial", "ha"),
    ("iopolicy", "numa"),
];
const CONTROLLER: [(&str, &str); 12] = [
    ("transport", "tcp"),
    ("state", "live"),
    ("address", "traddr=10.0.0.1,trsvcid=4426"),
    ("subsysnqn", "nqn.2023-02.io.simplyblock:pool:lvol:1"),
    ("hostnqn", "nqn.x:host"),
    ("hostid", "aaaaaaaa-0000-4000-8000-00000000000a"),
    ("cntlid", "1"),
    ("cntrltype", "io"),
    ("reconnect_delay", "10"),
    ("ctrl_loss_tmo", "600"),
    ("fast_io_fail_tmo", "off"),
    ("delete_controller", ""),
];
const LEG: [(&str, &str); 5] =
    [("nsid", "1"), ("size", "8"), ("uuid", ""), ("ana_state", "optimized"), ("ana_grpid", "1")];
const HEAD: [(&str, &str); 4] = [("nsid", "1"), ("size", "8"), ("uuid", ""), ("delayed_removal_secs", "0")];

/// A change to one attribute.
#[derive(Debug, Arbitrary)]
struct Change<'a> {
    file: u16,
    /// What it holds; nothing removes it.
    content: Option<&'a [u8]>,
}

/// A tree that is built once and changed back after every input.
struct Tree {
    dir: TempDir,
    files: Vec<(PathBuf, &'static str)>,
    scanner: Scanner,
}

impl Tree {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() }.expect("a folder");
        let mut files = Vec::new();
        let mut add = |home: String, attributes: &[(&str, &'static str)]| {
            fs::create_dir_all(dir.path().join(&home)).expect("a folder");
            for (name, text) in attributes {
                files.push((dir.path().join(&home).join(name), *text));
            }
        };
        add("module/nvme_core/parameters".to_owned(), &[("multipath", "Y")]);
        for subsystem in 0..2 {
            let home = format!("class/nvme-subsystem/nvme-subsys{subsystem}");
            add(home.clone(), &SUBSYSTEM);
            add(format!("{home}/nvme{subsystem}n1"), &HEAD);
            for controller in [subsystem * 2, subsystem * 2 + 1] {
                let own = format!("class/nvme/nvme{controller}");
                add(own.clone(), &CONTROLLER);
                add(format!("{own}/nvme{subsystem}c{controller}n1"), &LEG);
                let link = dir.path().join(&home).join(format!("nvme{controller}"));
                std::os::unix::fs::symlink(format!("../../nvme/nvme{controller}"), link).expect("a link");
            }
        }
        let scanner = Scanner::new(SysRoot::sysfs_only(dir.path()));
        let tree = Self { dir, files, scanner };
        for at in 0..tree.files.len() {
            tree.restore(at);
        }
        tree
    }

    fn restore(&self, at: usize) {
        let (path, text) = &self.files[at];
        fs::write(path, format!("{text}\n")).expect("a file");
    }
}

thread_local! {
    static TREE: RefCell<Tree> = RefCell::new(Tree::new());
}

fuzz_target!(|changes: Vec<Change>| {
    TREE.with_borrow(|tree| {
        let mut changed = Vec::new();
        for change in changes.iter().take(16) {
            let at = usize::from(change.file) % tree.files.len();
            let (path, _) = &tree.files[at];
            match change.content {
                Some(content) => fs::write(path, content).expect("a file"),
                None => drop(fs::remove_file(path)),
            }
            changed.push(at);
        }
        let host = tree.scanner.scan().expect("the tree is there");
        judge(&host);
        let document = serde_json::to_value(&host).expect("a host is a document");
        let read: Host = serde_json::from_value(document.clone()).expect("what was written can be read");
        assert_eq!(serde_json::to_value(&read).expect("a host is a document"), document);
        for at in changed {
            tree.restore(at);
        }
        assert!(tree.dir.path().is_dir());
    });
});

fn judge(host: &Host) {
    let expectation = Expectation { profiles: built_in_profiles(), ..Expectation::none(UnixNs(0)) };
    let found = diagnose(Subject {
        host,
        expectation: &expectation,
        node: &Node::elsewhere(),
        past: &Past::none(),
        policy: &Policy::default(),
    });
    assert!(found.iter().all(|finding| !matches!(finding.verdict, Verdict::Propose(_))));
}
