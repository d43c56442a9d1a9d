//! Every fixture, and every twin of it: what is found, and what is not.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "in a test a failure is the report"
)]

mod case;
mod tree;

/// Tests are found by the name of what they test.
mod diagnose {
    use std::thread;
    use std::time::Duration;

    use pathwarden::diagnose::{Finding, Verdict};
    use pathwarden::fabric::Host;
    use pathwarden::host::SysRoot;
    use pathwarden::host::sysfs::{Patience, Scanner};

    use crate::case::{self, Case, Look};
    use crate::tree::{AddressSpelling, Fault, Tree, unfold};

    fn scan(tree: &Tree, order: u64) -> Host {
        let patience = Patience {
            slow: Duration::from_millis(5),
            // Long enough for a reader that is only not scheduled on a busy machine.
            deadline: Duration::from_millis(500),
            readers: 16,
        };
        let unfolded = unfold(&tree.files(), order);
        let scanner = Scanner::new(SysRoot::sysfs_only(unfolded.path())).with_patience(patience);
        scanner.scan().unwrap()
    }

    /// The twin must be answered as the case is.
    fn must_agree(case: &Case, twin: &str, tree: &Tree, order: u64) {
        let host = scan(tree, order);
        assert_eq!(
            unchecked(&host),
            case.unchecked,
            "{}, {twin}: unchecked",
            case.name
        );
        for look in &case.looks {
            let lines = case::lines(&case.findings(&host, look));
            assert_eq!(
                lines, look.findings,
                "{}, {twin}, watched {:?}",
                case.name, look.watched
            );
        }
    }

    fn unchecked(host: &Host) -> Vec<String> {
        let mut objects: Vec<String> = host.unchecked.iter().map(|u| u.object.clone()).collect();
        objects.dedup();
        objects
    }

    #[test]
    fn every_case_is_answered_as_its_file_says() {
        for case in case::all() {
            let host = scan(&case.tree, 0);
            must_agree(&case, "itself", &case.tree, 0);
            let counts = case::counts(&host);
            for (key, value) in &case.counts {
                assert_eq!(counts.get(key), Some(value), "{}: {key}", case.name);
            }
        }
    }

    #[test]
    fn renumbering_changes_nothing() {
        for case in case::all() {
            for seed in [1, 10, 100] {
                // Names in the fixture's own sections would have to follow.
                if case.unchecked.is_empty()
                    && case.tree.extra.is_empty()
                    && !case.names_kernel_objects()
                {
                    must_agree(
                        &case,
                        &format!("renumbered by {seed}"),
                        &case.tree.renumbered(seed),
                        0,
                    );
                }
            }
        }
    }

    #[test]
    fn the_order_of_a_listing_changes_nothing() {
        for case in case::all() {
            for order in [1, 2, 3] {
                must_agree(&case, &format!("in order {order}"), &case.tree, order);
            }
        }
    }

    #[test]
    fn one_enumeration_is_enough() {
        for case in case::all() {
            if case.tree.unattached.is_empty() {
                must_agree(
                    &case,
                    "by the subsystems' links",
                    &case.tree.listed_by(false),
                    0,
                );
            }
            // By the class alone two subsystems of one NQN cannot be told apart unless legs do it.
            let mut nqns = case.tree.nqns();
            nqns.sort();
            let count = nqns.len();
            nqns.dedup();
            if nqns.len() == count {
                must_agree(&case, "by the class", &case.tree.listed_by(true), 0);
            }
        }
    }

    #[test]
    fn what_stands_beside_changes_nothing() {
        for (at, case) in case::all().iter().enumerate() {
            // A big crowd is a thousand objects; every fourth case gets it.
            let crowd = if at % 4 == 0 { 200 } else { 12 };
            must_agree(case, "crowded", &case.tree.crowded(crowd), 0);
        }
    }

    #[test]
    fn spelling_an_address_another_way_changes_nothing() {
        use AddressSpelling::{Blanks, Capitals, WithSource};
        for case in case::all() {
            for spelling in [Blanks, Capitals, WithSource] {
                must_agree(
                    &case,
                    &format!("{spelling:?}"),
                    &case.tree.spelled(spelling),
                    0,
                );
            }
        }
    }

    #[test]
    fn secrets_change_nothing_and_are_never_read() {
        const SECRET: &str = "DHHC-1:00:EXAMPLE:";
        for case in case::all() {
            let twin = case.tree.with_secrets(SECRET);
            must_agree(&case, "with secrets", &twin, 0);
            let host = scan(&twin, 0);
            assert!(!format!("{host:?}").contains(SECRET), "{}", case.name);
            for look in &case.looks {
                let findings = case.findings(&host, look);
                assert!(!format!("{findings:?}").contains(SECRET), "{}", case.name);
            }
        }
    }

    const OPTIONAL: [&str; 8] = [
        "iopolicy",
        "cntrltype",
        "dctype",
        "subsystype",
        "hostid",
        "kato",
        "fast_io_fail_tmo",
        "ana_grpid",
    ];

    #[test]
    fn without_an_optional_file_the_answer_is_the_same_or_a_refusal() {
        for case in case::all() {
            for attribute in OPTIONAL {
                let twin = case.tree.without(attribute);
                must_not_contradict(&case, &format!("without {attribute}"), &scan(&twin, 0));
            }
        }
    }

    #[test]
    fn an_attribute_that_blocks_costs_its_object_only() {
        for case in case::all() {
            // One object of a kind is enough where each takes half a second.
            let mut seen = std::collections::BTreeSet::new();
            let twins: Vec<(String, Fault)> = case
                .tree
                .attribute_paths()
                .into_iter()
                .filter(|path| seen.insert(path.replace(|c: char| c.is_ascii_digit(), "")))
                .map(|path| (path, Fault::Blocks))
                .collect();
            each_alone(&case, &twins, 64);
        }
    }

    fn each_alone(case: &Case, twins: &[(String, Fault)], threads: usize) {
        let whole = scan(&case.tree, 0);
        let share = twins.len().div_ceil(threads);
        thread::scope(|threads| {
            for twins in twins.chunks(share.max(1)) {
                let whole = &whole;
                threads.spawn(move || {
                    for (path, fault) in twins {
                        let host = scan(&case.tree.with_fault(path, *fault), 0);
                        let twin = format!("{path} {fault:?}");
                        others_stay(case, &twin, path, whole, &host);
                        if *fault == Fault::Nul {
                            // Carried as it is: it is another host, about which nothing is proposed.
                            must_not_propose(case, &twin, &host);
                        } else {
                            must_not_contradict(case, &twin, &host);
                        }
                    }
                });
            }
        });
    }

    /// Nothing new is found, nothing is proposed that was not, and what is no longer found is in `unchecked`.
    fn must_not_contradict(case: &Case, twin: &str, host: &Host) {
        for look in &case.looks {
            let found = case.findings(host, look);
            for finding in &found {
                let known = look.findings.iter().find(|line| same_fault(line, finding));
                let Some(known) = known else {
                    panic!("{}, {twin}: new finding {}", case.name, case::line(finding));
                };
                if let Verdict::Propose(action) = finding.verdict {
                    let proposed = known.contains(&format!("propose({action})"));
                    assert!(
                        proposed,
                        "{}, {twin}: proposes {}",
                        case.name,
                        case::line(finding)
                    );
                }
            }
            missed_is_unchecked(case, twin, host, look, &found);
        }
    }

    fn must_not_propose(case: &Case, twin: &str, host: &Host) {
        for look in &case.looks {
            for finding in case.findings(host, look) {
                let line = case::line(&finding);
                let proposes = matches!(finding.verdict, Verdict::Propose(_));
                assert!(
                    !proposes || look.findings.contains(&line),
                    "{}, {twin}: {line}",
                    case.name
                );
            }
        }
    }

    /// Whether a line of the case tells of the fault that was found, by kind and place. A place that could not be
    /// read is none.
    fn same_fault(line: &str, finding: &Finding) -> bool {
        let own = case::line(finding);
        let (mut a, mut b) = (line.split(' '), own.split(' '));
        a.next() == b.next() && (a.next() == b.next() || finding.identity.endpoint.is_none())
    }

    fn missed_is_unchecked(case: &Case, twin: &str, host: &Host, look: &Look, found: &[Finding]) {
        for line in &look.findings {
            let still = found.iter().any(|finding| same_fault(line, finding));
            let known_gap = host
                .unchecked
                .iter()
                .any(|u| !case.unchecked.contains(&u.object))
                || rests_on_it(twin, line);
            assert!(still || known_gap, "{}, {twin}: lost {line}", case.name);
        }
    }

    /// Whether what the twin is without is the very fact that a finding is about.
    fn rests_on_it(twin: &str, line: &str) -> bool {
        let facts = [
            ("ana_grpid", "ana-suspect"),
            ("hostid", "host-identity"),
            ("fast_io_fail_tmo", "loss-timeout"),
        ];
        facts
            .iter()
            .any(|(attribute, kind)| twin.contains(attribute) && line.starts_with(kind))
    }

    /// Objects that the fault is not in are as they were.
    fn others_stay(case: &Case, twin: &str, path: &str, whole: &Host, host: &Host) {
        let hit = Tree::object_of(path).unwrap();
        for controller in &whole.controllers {
            let name = controller.name.to_string();
            if name == hit {
                continue;
            }
            let now = host.controller(controller.name).unwrap_or_else(|| {
                panic!("{}, {twin}: {name} is gone", case.name);
            });
            assert_eq!(now.state, controller.state, "{}, {twin}: {name}", case.name);
            assert_eq!(
                now.endpoint, controller.endpoint,
                "{}, {twin}: {name}",
                case.name
            );
            let touched = host.unchecked.iter().any(|u| u.object == name);
            let was = whole.unchecked.iter().any(|u| u.object == name);
            assert!(
                !touched || was,
                "{}, {twin}: {name} is transient",
                case.name
            );
        }
    }
}
