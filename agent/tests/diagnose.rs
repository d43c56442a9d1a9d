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

    /// Long enough for a reader that is only not scheduled on a busy machine.
    const BUSY: Duration = Duration::from_secs(30);

    fn scan(tree: &Tree, order: u64) -> Host {
        scan_within(tree, order, BUSY)
    }

    fn scan_within(tree: &Tree, order: u64, deadline: Duration) -> Host {
        let patience = Patience {
            slow: Duration::from_millis(5),
            deadline,
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
    fn an_attribute_that_cannot_be_read_costs_its_object_only() {
        use Fault::{Binary, Errno, Megabyte, Missing, Nul, ReadError};
        for case in case::all() {
            // A head without it is one of a kernel that does not delay removals: another host.
            let another = |path: &String| path.ends_with("delayed_removal_secs");
            let every = case.tree.attribute_paths();
            let of_each_kind = one_of_a_kind(&case);
            let twins = |paths: &[String], faults: [Fault; 3]| -> Vec<(String, Fault)> {
                let twins = paths
                    .iter()
                    .flat_map(|path| faults.map(|fault| (path.clone(), fault)));
                twins
                    .filter(|(path, fault)| !(another(path) && *fault == Missing))
                    .collect()
            };
            let twins = [
                twins(&every, [Missing, Errno, Nul]),
                twins(&of_each_kind, [ReadError, Megabyte, Binary]),
            ]
            .concat();
            let whole = scan(&case.tree, 0);
            let share = twins.len().div_ceil(4).max(1);
            thread::scope(|threads| {
                for twins in twins.chunks(share) {
                    let (case, whole) = (&case, &whole);
                    threads.spawn(move || {
                        for (path, fault) in twins {
                            must_stand_alone(case, whole, path, *fault, BUSY);
                        }
                    });
                }
            });
        }
    }

    #[test]
    fn an_attribute_that_blocks_costs_its_object_only() {
        let cases: Vec<(Case, Host)> = case::all()
            .into_iter()
            .map(|case| (scan(&case.tree, 0), case))
            .map(|(h, c)| (c, h))
            .collect();
        let mut twins: Vec<(&Case, &Host, String)> = Vec::new();
        for (case, whole) in &cases {
            // Each takes its whole deadline.
            twins.extend(
                one_of_a_kind(case)
                    .into_iter()
                    .map(|path| (case, whole, path)),
            );
        }
        let share = twins.len().div_ceil(64);
        thread::scope(|threads| {
            for twins in twins.chunks(share) {
                threads.spawn(move || {
                    for (case, whole, path) in twins {
                        must_stand_alone(case, whole, path, Fault::Blocks, Duration::from_secs(2));
                    }
                });
            }
        });
    }

    /// Every attribute of one object of each kind.
    fn one_of_a_kind(case: &Case) -> Vec<String> {
        let mut seen = std::collections::BTreeSet::new();
        let mut paths = case.tree.attribute_paths();
        paths.retain(|path| seen.insert(path.replace(|c: char| c.is_ascii_digit(), "")));
        paths
    }

    /// One attribute cannot be read: its object is named, and the rest is as it was.
    fn must_stand_alone(case: &Case, whole: &Host, path: &str, fault: Fault, deadline: Duration) {
        let host = scan_within(&case.tree.with_fault(path, fault), 0, deadline);
        let twin = format!("{path} {fault:?}");
        others_stay(case, &twin, path, whole, &host);
        if fault == Fault::Nul {
            // Carried as it is: it is another host, about which nothing is proposed.
            must_not_propose(case, &twin, &host);
        } else {
            must_not_contradict(case, &twin, &host);
        }
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
                let Verdict::Propose(action) = finding.verdict else {
                    continue;
                };
                let proposed = look.findings.iter().any(|line| {
                    same_fault(line, &finding) && line.contains(&format!("propose({action})"))
                });
                assert!(
                    proposed,
                    "{}, {twin}: proposes {}",
                    case.name,
                    case::line(&finding)
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
            let hit = twin.split(' ').next().and_then(Tree::object_of);
            let known_gap = host
                .unchecked
                .iter()
                .any(|u| Some(u.object.as_str()) == hit || !case.unchecked.contains(&u.object))
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

    mod requests {
        //! A reap or release that is asked for: which guard forbids it.

        use pathwarden::diagnose::{
            self, Action, Expectation, Node, Policy, Question, Reason, Removal, Subject,
        };
        use pathwarden::fabric::{ControllerName, Host, UnixNs};

        use super::{case, scan};
        use crate::tree;

        fn refusal(
            text: &str,
            action: Action,
            controller: u32,
            namespace: Option<&str>,
        ) -> Option<Reason> {
            let host: Host = scan(&tree::parse(text), 0);
            let expectation = Expectation {
                question: Some(Question {
                    nqn: "nqn.x:a".into(),
                    namespace: namespace.map(|text| text.parse().unwrap()),
                    expects_service: true,
                }),
                ..Expectation::none(UnixNs(0))
            };
            let past = case::watched(&host, std::time::Duration::from_secs(3600), true);
            let subject = Subject {
                host: &host,
                expectation: &expectation,
                node: &Node::elsewhere(),
                past: &past,
                policy: &Policy::default(),
            };
            let controller = host
                .controller(ControllerName::from_instance(controller))
                .unwrap();
            diagnose::refusal(
                subject,
                &Removal {
                    action,
                    controller,
                    needs_desired: false,
                },
            )
        }

        const TWO_NAMESPACES: &str = "subsystem 0 nqn=nqn.x:a\nhead 1\nhead 2\n\
            controller 0 address=traddr=10.0.0.1,trsvcid=1\nleg 1 optimized\n\
            controller 1 address=traddr=10.0.0.2,trsvcid=1 STATE\nleg 1 optimized\nleg 2 optimized\n";

        #[test]
        fn for_one_namespaces_sake_another_does_not_lose_its_last_path() {
            let text = TWO_NAMESPACES.replace("STATE", "");
            assert_eq!(
                refusal(&text, Action::Reap, 1, Some("1")),
                Some(Reason::CoTenantAtRisk)
            );
            assert_eq!(
                refusal(&text, Action::Reap, 1, None),
                Some(Reason::LastUsablePath)
            );
        }

        #[test]
        fn the_last_usable_path_stays_while_the_other_connects() {
            let text = TWO_NAMESPACES.replace("STATE", "state=connecting");
            assert_eq!(
                refusal(&text, Action::Reap, 0, Some("1")),
                Some(Reason::LastUsablePath)
            );
            assert_eq!(
                refusal(&text, Action::Reap, 0, None),
                Some(Reason::LastUsablePath)
            );
        }

        #[test]
        fn a_deleting_controllers_leg_is_no_surviving_path() {
            let text = TWO_NAMESPACES.replace("STATE", "state=deleting");
            assert_eq!(
                refusal(&text, Action::Reap, 0, None),
                Some(Reason::LastUsablePath)
            );
        }

        #[test]
        fn the_last_live_controller_is_never_reaped() {
            let text = "subsystem 0 nqn=nqn.x:a\ncontroller 0 address=traddr=10.0.0.1,trsvcid=1\n\
                controller 1 address=traddr=10.0.0.2,trsvcid=1 state=connecting\n";
            assert_eq!(
                refusal(text, Action::Reap, 0, None),
                Some(Reason::LastUsablePath)
            );
        }

        #[test]
        fn a_husk_beside_a_serving_controller_may_go() {
            let text = "subsystem 0 nqn=nqn.x:a\nhead 1\ncontroller 0 address=traddr=10.0.0.1,trsvcid=1\nleg 1 optimized\n\
                controller 1 address=traddr=10.0.0.2,trsvcid=1\n";
            assert_eq!(refusal(text, Action::Reap, 1, None), None);
            assert_eq!(refusal(text, Action::Release, 1, None), None);
            assert_eq!(
                refusal(text, Action::Release, 0, None),
                Some(Reason::LastUsablePath)
            );
        }

        #[test]
        fn what_is_no_fabric_or_for_discovery_is_never_touched() {
            let one = |attributes: &str| {
                let text = format!(
                    "subsystem 0 nqn=nqn.x:a\nhead 1\ncontroller 0 address=traddr=10.0.0.1,trsvcid=1\nleg 1 optimized\n\
                    controller 1 address=traddr=10.0.0.2,trsvcid=1 {attributes}\n"
                );
                refusal(&text, Action::Reap, 1, None)
            };
            assert_eq!(one("transport=pcie"), Some(Reason::NotAFabric));
            assert_eq!(one("transport=apple-nvme"), Some(Reason::NotAFabric));
            assert_eq!(one("transport=quic"), Some(Reason::NotAFabric));
            assert_eq!(one("cntrltype=discovery"), Some(Reason::Discovery));
            assert_eq!(one("dctype=cdc"), Some(Reason::Discovery));
            assert_eq!(one("-cntlid"), Some(Reason::IdentityIncomplete));
            assert_eq!(one("cntlid=x"), Some(Reason::IdentityIncomplete));
            assert_eq!(one("-hostnqn"), Some(Reason::IdentityIncomplete));
            assert_eq!(one("-delete_controller"), Some(Reason::DeleteInProgress));
            assert_eq!(one("state=deleting"), Some(Reason::DeleteInProgress));
        }
    }
}
