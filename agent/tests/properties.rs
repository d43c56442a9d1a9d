//! What holds for any host.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "in a test a failure is the report"
)]

mod case;
mod hosts;
mod tree;

mod host {
    use pathwarden::fabric::Host;
    use pathwarden::host::SysRoot;
    use pathwarden::host::sysfs;
    use proptest::prelude::*;

    use crate::hosts;
    use crate::tree::{Tree, unfold};

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

        #[test]
        fn scanning_the_rendered_tree_gives_the_model_back(model in hosts::host(), order in 0..4_u64) {
            let unfolded = unfold(&Tree::of_host(&model).files(), order);
            let mut host = sysfs::scan(&SysRoot::sysfs_only(unfolded.path())).unwrap();
            for controller in &mut host.controllers {
                prop_assert!(controller.generation.is_some());
                controller.generation = None;
            }
            prop_assert_eq!(host, model);
        }

        #[test]
        fn a_host_reads_back_from_its_document(model in hosts::host()) {
            let document = serde_json::to_value(&model).unwrap();
            let read: Host = serde_json::from_value(document.clone()).unwrap();
            prop_assert_eq!(serde_json::to_value(&read).unwrap(), document);
        }
    }
}

mod diagnose {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use pathwarden::diagnose::{
        Expectation, Fact, Finding, Node, Policy, Subject, Verdict, diagnose,
    };
    use pathwarden::fabric::{
        Attr, Controller, ControllerKind, ControllerName, ControllerState, Generation, Host,
        Layout, Leg, Multipath, Namespace, Nqn, SubsystemKind, Transport,
    };
    use proptest::prelude::*;

    use crate::{case, hosts};

    fn findings(
        host: &mut Host,
        expectation: &Expectation,
        node: &Node,
        rescanned: bool,
    ) -> Vec<Finding> {
        for controller in &mut host.controllers {
            controller.generation = Some(Generation(u64::from(controller.name.instance()) + 1));
        }
        let past = case::watched(host, Duration::from_secs(3600), rescanned);
        diagnose(Subject {
            host,
            expectation,
            node,
            past: &past,
            policy: &Policy::default(),
        })
    }

    /// The controllers that proposals would remove.
    fn removals(findings: &[Finding]) -> BTreeSet<ControllerName> {
        let removed = findings.iter().filter(
            |finding| matches!(finding.verdict, Verdict::Propose(action) if action.removes()),
        );
        removed.filter_map(|finding| finding.controller).collect()
    }

    /// Whether a leg carries I/O for certain: written out anew, not with the library's own rule.
    fn carries(host: &Host, namespace: &Namespace, leg: &Leg) -> bool {
        let live = host
            .controller(leg.controller)
            .is_some_and(|c| c.state == ControllerState::Live);
        let accessible = match leg.ana {
            Attr::Value(ana) => matches!(ana.as_str(), "optimized" | "non-optimized"),
            _ => true,
        };
        let ready = match (leg.layout, &namespace.head) {
            (Layout::Multipath, Some(head)) => leg.size == head.size,
            (Layout::Multipath, None) => false,
            _ => true,
        };
        live && accessible && ready && leg.size.value().is_some_and(|size| size.0 > 0)
    }

    /// The namespaces with a leg that carries I/O, without these controllers.
    fn lit(host: &Host, without: &BTreeSet<ControllerName>) -> BTreeSet<(u32, u32)> {
        let mut lit = BTreeSet::new();
        for subsystem in &host.subsystems {
            for namespace in &subsystem.namespaces {
                let mut legs = namespace
                    .legs
                    .iter()
                    .filter(|leg| !without.contains(&leg.controller));
                if legs.any(|leg| carries(host, namespace, leg)) {
                    lit.insert((subsystem.name.instance(), namespace.instance));
                }
            }
        }
        lit
    }

    fn is_discovery(host: &Host, controller: &Controller) -> bool {
        let subsystem = host.subsystem(controller.subsystem.unwrap()).unwrap();
        controller.kind.value() == Some(&ControllerKind::Discovery)
            || subsystem.kind.value() == Some(&SubsystemKind::Discovery)
            || subsystem.nqn.value().unwrap().as_str() == Nqn::DISCOVERY
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

        #[test]
        fn no_proposal_takes_a_namespaces_last_usable_leg(
            mut host in hosts::host(), expectation in hosts::expectation(), node in hosts::node(), rescanned: bool
        ) {
            let removed = removals(&findings(&mut host, &expectation, &node, rescanned));
            // All of them together, which is more than each of them alone.
            prop_assert_eq!(lit(&host, &removed), lit(&host, &BTreeSet::new()));
        }

        #[test]
        fn nothing_is_removed_that_is_not_ours_or_in_use(
            mut host in hosts::host(), expectation in hosts::expectation(), node in hosts::node(), rescanned: bool
        ) {
            let removed = removals(&findings(&mut host, &expectation, &node, rescanned));
            for name in &removed {
                let controller = host.controller(*name).unwrap();
                let transport = controller.transport.value().unwrap();
                prop_assert!(matches!(transport, Transport::Tcp | Transport::Rdma), "{}", transport);
                prop_assert!(!is_discovery(&host, controller));
                prop_assert!(host.multipath == Some(Multipath::On));
                prop_assert!(!controller.state.is_deleting());
                let hostnqn = controller.hostnqn.value().unwrap();
                match &node.host {
                    Fact::Known(own) => prop_assert_eq!(hostnqn, &own.nqn),
                    // Without a name for this host it must be the only one.
                    _ => {
                        let alone = host
                            .controllers
                            .iter()
                            .all(|c| c.hostnqn.value().is_none_or(|other| other == hostnqn));
                        prop_assert!(alone);
                    }
                }
                for disk in disks_that_go(&host, controller) {
                    let used = match &node.in_use {
                        Fact::Known(in_use) => in_use.contains(&disk),
                        _ => true,
                    };
                    prop_assert!(!used, "{disk} goes with {name}");
                }
            }
        }

        #[test]
        fn without_a_past_nothing_is_proposed(
            host in hosts::host(), expectation in hosts::expectation(), node in hosts::node()
        ) {
            let past = pathwarden::diagnose::Past::none();
            let found = diagnose(Subject {
                host: &host, expectation: &expectation, node: &node, past: &past, policy: &Policy::default(),
            });
            prop_assert!(found.iter().all(|f| !matches!(f.verdict, Verdict::Propose(_))));
        }

        #[test]
        fn one_fault_of_one_identity_is_told_once(
            mut host in hosts::host(), expectation in hosts::expectation(), node in hosts::node()
        ) {
            let found = findings(&mut host, &expectation, &node, false);
            let mut told = BTreeSet::new();
            for finding in &found {
                let key = (finding.kind, finding.identity.clone(), finding.nsid, finding.controllers.clone());
                prop_assert!(told.insert(key), "{}", case::line(finding));
                prop_assert!(!finding.evidence.is_empty());
            }
        }
    }

    /// Visible disks of the controller, and heads that no other live controller has a leg of.
    fn disks_that_go(host: &Host, controller: &Controller) -> Vec<pathwarden::fabric::DiskName> {
        let mut disks = Vec::new();
        for namespace in host.subsystems.iter().flat_map(|s| &s.namespaces) {
            let own = namespace
                .legs
                .iter()
                .filter(|leg| leg.controller == controller.name);
            for leg in own {
                let others = namespace
                    .legs
                    .iter()
                    .filter(|other| other.controller != controller.name);
                let kept = others
                    .filter_map(|other| host.controller(other.controller))
                    .any(|other| other.state == ControllerState::Live);
                match (&namespace.head, leg.layout) {
                    (Some(head), Layout::Multipath) if !kept => disks.push(head.name),
                    (_, Layout::Multipath) => {}
                    _ => disks.push(leg.name),
                }
            }
        }
        disks
    }

    #[test]
    fn the_generated_hosts_do_lead_to_proposals() {
        use proptest::strategy::ValueTree;
        use proptest::test_runner::TestRunner;

        let mut runner = TestRunner::deterministic();
        let strategy = (hosts::host(), hosts::expectation(), hosts::node());
        let (mut removing, mut refused) = (0, 0);
        for _ in 0..2_000 {
            let (mut host, expectation, node) = strategy.new_tree(&mut runner).unwrap().current();
            let found = findings(&mut host, &expectation, &node, true);
            removing += removals(&found).len();
            refused += found
                .iter()
                .filter(|f| matches!(f.verdict, Verdict::Refuse { .. }))
                .count();
        }
        assert!(
            removing >= 50 && refused >= 500,
            "{removing} removals, {refused} refusals"
        );
    }
}

mod fabric {
    use pathwarden::fabric::{
        DiskName, Endpoint, Limit, Nqn, SysfsAddress, Traddr, Transport, Uuid,
    };
    use proptest::prelude::*;

    fn transport() -> impl Strategy<Value = Transport> {
        prop_oneof![
            "tcp",
            "rdma",
            "fc",
            "loop",
            "pcie",
            "apple-nvme",
            "[a-z]{1,8}"
        ]
        .prop_map(|text| Transport::new(&text))
    }

    fn address() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<std::net::Ipv4Addr>().prop_map(|a| a.to_string()),
            any::<std::net::Ipv6Addr>().prop_map(|a| a.to_string()),
            (any::<u16>(), "[%a-z0-9]{1,8}").prop_map(|(n, zone)| format!("fe80::{n:x}%{zone}")),
            (any::<u64>(), any::<u64>()).prop_map(|(n, p)| format!("nn-0x{n:016x}:pn-0x{p:016x}")),
            "[0-9a-f]{4}:[0-9a-f]{2}:00\\.0",
            "\\PC{1,20}",
        ]
    }

    proptest! {
        #[test]
        fn an_endpoint_from_sysfs_survives_its_text_form(
            transport in transport(),
            traddr in address(),
            port in prop::option::of(any::<u16>()),
            host in prop::option::of(address()),
            iface in prop::option::of("\\PC{1,12}"),
        ) {
            let port = port.map(|p| p.to_string());
            let text = SysfsAddress {
                traddr: Some(&traddr),
                trsvcid: port.as_deref(),
                host_traddr: host.as_deref(),
                host_iface: iface.as_deref(),
                src_addr: None,
            };
            let parsed = Endpoint::from_sysfs(&transport, &text);
            if let Some(endpoint) = parsed.value() {
                // What sysfs shows is carried; what a person wrote must be an address.
                let document = serde_json::to_value(endpoint).unwrap();
                let read: Endpoint = serde_json::from_value(document).unwrap();
                prop_assert_eq!(&read, endpoint);
                prop_assert!(read.same_as(endpoint) && read.covers(endpoint));
            }
        }

        #[test]
        fn spelling_out_an_address_does_not_change_it(address in any::<std::net::Ipv6Addr>()) {
            let s = address.segments();
            let long = s.map(|word| format!("{word:04X}")).join(":");
            let (a, b) = (Traddr::parse(&Transport::Tcp, &address.to_string()), Traddr::parse(&Transport::Tcp, &long));
            prop_assert_eq!(a, b);
        }

        #[test]
        fn an_ipv4_address_equals_its_mapped_form(address in any::<std::net::Ipv4Addr>()) {
            let plain = Traddr::parse(&Transport::Tcp, &address.to_string()).unwrap();
            let mapped = Traddr::parse(&Transport::Tcp, &format!("::ffff:{address}")).unwrap();
            prop_assert_eq!(&plain, &mapped);
            prop_assert!(plain.same_as(&mapped));
        }

        #[test]
        fn comparing_is_symmetric(a in address(), b in address()) {
            let a = Traddr::parse(&Transport::Tcp, &a);
            let b = Traddr::parse(&Transport::Tcp, &b);
            if let (Some(a), Some(b)) = (a, b) {
                prop_assert_eq!(a.same_as(&b), b.same_as(&a));
                prop_assert!(a.same_as(&a));
            }
        }

        #[test]
        fn no_text_makes_a_parser_panic(text in "\\PC*") {
            let address = SysfsAddress::parse(&text);
            for transport in ["tcp", "fc", "pcie", "x"] {
                let endpoint = Endpoint::from_sysfs(&Transport::new(transport), &address);
                drop(endpoint.value().map(ToString::to_string));
            }
            let _refused_or_not = text.parse::<Endpoint>();
            let _refused_or_not = text.parse::<Uuid>();
            let _refused_or_not = text.parse::<DiskName>();
            let _known_or_not = (Nqn::from_sysfs(&text), Limit::from_sysfs(&text));
        }

        #[test]
        fn names_read_back_as_they_are_shown(owner: u32, head: u32, controller: Option<u32>) {
            let disk = DiskName { owner, head, controller };
            prop_assert_eq!(disk.to_string().parse(), Ok(disk));
        }
    }
}
