//! A case: a tree with what is expected of it and what must be found, in one file.
//!
//! After the tree come sections, each begun by a line `== name`:
//!
//! ```text
//! == desired              a desired state (TOML; fetched a minute ago)
//! == ask NQN [NAMESPACE]  what is asked about
//! == node mounted=nvme0n1 owner=nvme2:stas hostnqn=…
//! == counts parked=1 husks=0 usable_legs=1
//! == unchecked nvme3      objects that must be named there
//! == findings             what a look at the tree alone must find, a line each
//! == watched 5m           the same when everything has been as it is for five minutes, and somebody saw it
//! ```
//!
//! A finding is one line: kind, endpoint (or NQN), verdict, and what else matters.
#![allow(dead_code, reason = "each test uses its own part of this")]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use pathwarden::config::{self, DesiredBounds};
use pathwarden::diagnose::{
    self, Expectation, Fact, Finding, HostId, Kind, Node, Past, Policy, Question, Seen, Subject,
    Verdict,
};
use pathwarden::fabric::{BootNs, Host, UnixNs, View};

use crate::tree::{self, Tree};

/// 2026-01-01T00:00:00Z, when every desired state of the fixtures was fetched.
const FETCHED: i64 = 1_767_225_600_000_000_000;

pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) tree: Tree,
    pub(crate) expectation: Expectation,
    pub(crate) node: Node,
    pub(crate) counts: BTreeMap<String, usize>,
    pub(crate) unchecked: Vec<String>,
    pub(crate) looks: Vec<Look>,
}

/// What must be found, given what was seen before.
pub(crate) struct Look {
    pub(crate) watched: Option<Duration>,
    pub(crate) rescanned: bool,
    pub(crate) findings: Vec<String>,
}

pub(crate) fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/sysfs")
}

/// Every case, by its file's name.
pub(crate) fn all() -> Vec<Case> {
    let mut names: Vec<String> = fs::read_dir(fixtures())
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".tree").map(str::to_owned))
        .collect();
    names.sort();
    names.iter().map(|name| load(name)).collect()
}

pub(crate) fn load(name: &str) -> Case {
    let text = fs::read_to_string(fixtures().join(format!("{name}.tree"))).unwrap();
    read(name, &text)
}

fn read(name: &str, text: &str) -> Case {
    let mut sections = text.split("\n== ");
    let mut case = Case {
        name: name.to_owned(),
        tree: tree::parse(sections.next().unwrap()),
        expectation: Expectation {
            profiles: config::built_in_profiles(),
            ..Expectation::none(UnixNs(FETCHED + 60_000_000_000))
        },
        node: Node::elsewhere(),
        counts: BTreeMap::new(),
        unchecked: Vec::new(),
        looks: Vec::new(),
    };
    for section in sections {
        let (title, body) = section.split_once('\n').unwrap_or((section, ""));
        let words: Vec<&str> = title.split_whitespace().collect();
        match words[0] {
            "desired" => case.expectation.desired = Some(desired(name, body)),
            "ask" => {
                case.expectation.question = Some(Question {
                    nqn: words[1].into(),
                    namespace: words.get(2).map(|text| text.parse().unwrap()),
                    expects_service: words.contains(&"service"),
                });
            }
            "node" => case.node = node(&words[1..]),
            "counts" => {
                for pair in &words[1..] {
                    let (key, value) = pair.split_once('=').unwrap();
                    case.counts.insert(key.to_owned(), value.parse().unwrap());
                }
            }
            "unchecked" => case
                .unchecked
                .extend(words[1..].iter().map(|w| (*w).to_owned())),
            "findings" => case.looks.push(look(None, false, body)),
            "watched" => {
                let minutes: u64 = words[1].strip_suffix('m').unwrap().parse().unwrap();
                let watched = Some(Duration::from_secs(minutes * 60));
                case.looks
                    .push(look(watched, words.contains(&"rescanned"), body));
            }
            other => panic!("{name}: no section \"{other}\""),
        }
    }
    case
}

fn desired(name: &str, body: &str) -> diagnose::Desired {
    let text = if body.contains("fetched_at") {
        body.to_owned()
    } else {
        format!("fetched_at = \"2026-01-01T00:00:00Z\"\n{body}")
    };
    let bounds = DesiredBounds {
        max_age: Duration::from_secs(600),
    };
    config::parse_desired(name, &text, bounds).unwrap()
}

fn node(words: &[&str]) -> Node {
    let mut node = Node {
        host: Fact::Elsewhere,
        owners: Fact::Known(BTreeMap::new()),
        exclusions: Fact::Known(Vec::new()),
        in_use: Fact::Known(std::collections::BTreeSet::new()),
    };
    for word in words {
        let (key, value) = word.split_once('=').unwrap();
        match key {
            "mounted" => {
                node.in_use =
                    Fact::Known(value.split(',').map(|disk| disk.parse().unwrap()).collect());
            }
            "owner" => {
                let (controller, owner) = value.split_once(':').unwrap();
                let entry = (controller.parse().unwrap(), owner.to_owned());
                node.owners = Fact::Known([entry].into());
            }
            "hostnqn" => {
                node.host = Fact::Known(HostId {
                    nqn: value.into(),
                    id: None,
                });
            }
            other => panic!("no fact \"{other}\""),
        }
    }
    node
}

fn look(watched: Option<Duration>, rescanned: bool, body: &str) -> Look {
    let lines = body.lines().map(str::trim);
    let mut findings: Vec<String> = lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    findings.sort();
    Look {
        watched,
        rescanned,
        findings,
    }
}

impl Case {
    /// Whether facts of the case name objects by the kernel's names.
    pub(crate) fn names_kernel_objects(&self) -> bool {
        let owners = self
            .node
            .owners
            .known()
            .is_some_and(|owners| !owners.is_empty());
        owners
            || self
                .node
                .in_use
                .known()
                .is_some_and(|disks| !disks.is_empty())
    }

    pub(crate) fn findings(&self, host: &Host, look: &Look) -> Vec<Finding> {
        let past = look
            .watched
            .map_or_else(Past::none, |age| watched(host, age, look.rescanned));
        diagnose::diagnose(Subject {
            host,
            expectation: &self.expectation,
            node: &self.node,
            past: &past,
            policy: &Policy::default(),
        })
    }
}

/// Somebody has seen every controller as it is for this long.
pub(crate) fn watched(host: &Host, age: Duration, rescanned: bool) -> Past {
    let now = BootNs(1_000_000_000_000_000);
    let unchanged_since = now.checked_sub(age).unwrap();
    let seen = host.controllers.iter().map(|controller| {
        let generation = controller.generation;
        (
            controller.name,
            Seen {
                generation,
                unchanged_since,
                rescanned,
                absence: None,
            },
        )
    });
    Past::new(now, seen)
}

/// Findings as lines, sorted: what does not change when kernel names do.
pub(crate) fn lines(findings: &[Finding]) -> Vec<String> {
    let mut lines: Vec<String> = findings.iter().map(line).collect();
    lines.sort();
    lines
}

pub(crate) fn line(finding: &Finding) -> String {
    let place = match (&finding.identity.endpoint, &finding.identity.subsysnqn) {
        (Some(endpoint), _) => endpoint.to_string(),
        (None, Some(nqn)) => nqn.to_string(),
        (None, None) => "-".to_owned(),
    };
    let verdict = match finding.verdict {
        Verdict::Propose(action) => format!("propose({action})"),
        Verdict::Refuse {
            action: Some(action),
            reason,
        } => format!("refuse({action}: {reason})"),
        Verdict::Refuse {
            action: None,
            reason,
        } => format!("refuse({reason})"),
        Verdict::ReportOnly => "report-only".to_owned(),
    };
    let mut line = format!("{} {place} {verdict}", finding.kind);
    if let Some(nsid) = finding.nsid {
        line.push_str(&format!(" nsid={nsid}"));
    }
    // A host's identity is that of all its controllers, however many a twin adds.
    if finding.controllers.len() != 1 && finding.kind != Kind::HostIdentity {
        line.push_str(&format!(" controllers={}", finding.controllers.len()));
    }
    if !finding.at_risk.is_empty() {
        let risk: Vec<String> = finding
            .at_risk
            .iter()
            .map(|risk| {
                risk.nsid
                    .map_or_else(|| "?".to_owned(), |nsid| nsid.to_string())
            })
            .collect();
        line.push_str(&format!(" risk={}", risk.join(",")));
    }
    line
}

/// The counts that a case names.
pub(crate) fn counts(host: &Host) -> BTreeMap<String, usize> {
    let counts = serde_json::to_value(View::new(host).counts()).unwrap();
    let object = counts.as_object().unwrap().iter();
    object
        .map(|(key, value)| {
            (
                key.clone(),
                usize::try_from(value.as_u64().unwrap()).unwrap(),
            )
        })
        .collect()
}
