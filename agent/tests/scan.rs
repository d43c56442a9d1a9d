//! Scanning: what blocks, what vanishes, what only newer kernels have.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "in a test a failure is the report"
)]

mod tree;

mod host {
    use std::fs;
    use std::path::Path;
    use std::time::{Duration, Instant};

    use pathwarden::fabric::{
        Attr, ControllerName, ControllerState, Fault, Head, Host, Layout, Leg, Limit, Multipath,
        Sectors,
    };
    use pathwarden::host::SysRoot;
    use pathwarden::host::sysfs::{self, Detail, Patience, Scanner};

    use crate::tree::{self, Unfolded, unfold};

    const TWO_PATHS: &str = "subsystem 0 nqn=nqn.x:a\nhead 1\n\
        controller 0 address=traddr=10.0.0.1,trsvcid=4426\nleg 1 optimized\n\
        controller 1 address=traddr=10.0.0.2,trsvcid=4426\nleg 1 non-optimized\n";

    fn unfolded(text: &str) -> Unfolded {
        unfold(&tree::parse(text).files(), 0)
    }

    fn scan(path: &Path) -> Host {
        sysfs::scan(&SysRoot::sysfs_only(path)).unwrap()
    }

    fn unchecked(host: &Host) -> Vec<(String, String)> {
        host.unchecked
            .iter()
            .map(|u| (u.object.clone(), u.reason.clone()))
            .collect()
    }

    fn head(host: &Host) -> &Head {
        host.subsystems[0].namespaces[0].head.as_ref().unwrap()
    }

    fn first_leg(host: &Host) -> &Leg {
        &host.subsystems[0].namespaces[0].legs[0]
    }

    const PATIENCE: Patience = Patience {
        slow: Duration::from_millis(10),
        deadline: Duration::from_millis(700),
        readers: 64,
    };

    fn patient(tree: &Unfolded) -> Scanner {
        Scanner::new(SysRoot::sysfs_only(tree.path())).with_patience(PATIENCE)
    }

    #[test]
    fn a_read_that_blocks_is_given_up_and_the_rest_is_there() {
        let blocked = tree::parse(TWO_PATHS).with_fault(
            "devices/virtual/nvme-fabrics/ctl/nvme0/address",
            tree::Fault::Blocks,
        );
        let tree = unfold(&blocked.files(), 0);
        let host = patient(&tree).scan().unwrap();
        let told = [("nvme0".to_owned(), "address: no answer in time".to_owned())];
        assert_eq!(unchecked(&host), told);
        assert_eq!(
            host.controllers[0].endpoint,
            Attr::Unreadable(Fault::TimedOut)
        );
        assert_eq!(host.controllers[0].state, ControllerState::Live);
        assert!(host.controllers[1].endpoint.value().is_some());
    }

    #[test]
    fn many_that_block_are_waited_for_together() {
        let mut text = String::from("subsystem 0 nqn=nqn.x:a\n");
        for number in 0..40 {
            text.push_str(&format!(
                "controller {number} address=traddr=10.0.0.{number},trsvcid=4426\n"
            ));
        }
        let mut blocked = tree::parse(&text);
        for number in 0..40 {
            let path = format!("devices/virtual/nvme-fabrics/ctl/nvme{number}/address");
            blocked = blocked.with_fault(&path, tree::Fault::Blocks);
        }
        let tree = unfold(&blocked.files(), 0);
        let start = Instant::now();
        let host = patient(&tree).scan().unwrap();
        // One after the other they would take 28 s.
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "{:?}",
            start.elapsed()
        );
        assert_eq!(host.unchecked.len(), 40);
        assert!(
            host.controllers
                .iter()
                .all(|c| c.state == ControllerState::Live)
        );
    }

    #[test]
    fn a_read_that_hangs_is_not_tried_again_until_it_has_come_back() {
        let path = "devices/virtual/nvme-fabrics/ctl/nvme0/address";
        let blocked = tree::parse(TWO_PATHS).with_fault(path, tree::Fault::Blocks);
        let tree = unfold(&blocked.files(), 0);
        let scanner = patient(&tree);
        scanner.scan().unwrap();
        let start = Instant::now();
        let host = scanner.scan().unwrap();
        assert!(start.elapsed() < PATIENCE.deadline, "{:?}", start.elapsed());
        assert_eq!(host.unchecked.len(), 1);
        // It comes back.
        let text = fs::OpenOptions::new()
            .write(true)
            .open(tree.path().join(path))
            .unwrap();
        drop(text);
        fs::remove_file(tree.path().join(path)).unwrap();
        fs::write(tree.path().join(path), "traddr=10.0.0.1,trsvcid=4426\n").unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while !scanner.scan().unwrap().unchecked.is_empty() {
            assert!(Instant::now() < deadline, "it is never tried again");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn a_controller_that_is_made_anew_has_another_generation() {
        let tree = unfolded(TWO_PATHS);
        let before = scan(tree.path());
        let home = tree.path().join("devices/virtual/nvme-fabrics/ctl/nvme1");
        let kept = tree.path().join("kept");
        fs::rename(&home, &kept).unwrap();
        fs::create_dir(&home).unwrap();
        for entry in fs::read_dir(&kept).unwrap() {
            let entry = entry.unwrap();
            fs::rename(entry.path(), home.join(entry.file_name())).unwrap();
        }
        let after = scan(tree.path());
        assert_eq!(
            before.controllers[0].generation,
            after.controllers[0].generation
        );
        assert_ne!(
            before.controllers[1].generation,
            after.controllers[1].generation
        );
        assert_eq!(
            before.controllers[1].identity(),
            after.controllers[1].identity()
        );
    }

    #[test]
    fn a_delete_that_is_under_way_shows_by_the_missing_attribute() {
        let text = "subsystem 0 nqn=nqn.x:a\ncontroller 0 state=deleting -delete_controller address=traddr=10.0.0.1,trsvcid=1\n\
            controller 1 state=\"deleting (no IO)\" address=traddr=10.0.0.2,trsvcid=1\n";
        let host = scan(unfolded(text).path());
        let of = |at: usize| (host.controllers[at].state, host.controllers[at].deletable);
        assert_eq!(of(0), (ControllerState::Deleting, Some(false)));
        assert_eq!(of(1), (ControllerState::DeletingNoIo, Some(true)));
    }

    #[test]
    fn what_only_newer_kernels_have_is_read_where_it_is() {
        let text = "subsystem 0 nqn=nqn.x:a\n\
            head 1 delayed_removal_secs=60 diag/io_requeue_no_usable_path_count=7 diag/io_fail_no_available_path_count=8\n\
            controller 0 address=traddr=10.0.0.1,trsvcid=1 diag/command_error_count=1 diag/reset_count=2 diag/reconnect_count=3\n\
            leg 1 optimized diag/command_retries_count=4 diag/command_error_count=5 diag/multipath_failover_count=6\n\
            controller 1 address=traddr=10.0.0.2,trsvcid=1\n\
            leg 1 optimized diag/command_retry_count=9\n";
        let tree = unfolded(text);
        let scanner = Scanner::new(SysRoot::sysfs_only(tree.path()));
        let host = scanner.with_detail(Detail::Everything).scan().unwrap();
        assert_eq!(unchecked(&host), []);
        let head = head(&host);
        assert_eq!(head.delayed_removal, Some(Duration::from_secs(60)));
        assert_eq!(
            (head.counters.requeued, head.counters.failed),
            (Some(7), Some(8))
        );
        let counters = host.controllers[0].counters;
        assert_eq!(
            (counters.errors, counters.resets, counters.reconnects),
            (Some(1), Some(2), Some(3))
        );
        let leg = first_leg(&host).counters;
        assert_eq!(
            (leg.retries, leg.errors, leg.failovers),
            (Some(4), Some(5), Some(6))
        );
        assert_eq!(
            host.subsystems[0].namespaces[0].legs[1].counters.retries,
            Some(9)
        );
        assert_eq!(host.controllers[1].counters.errors, None);
    }

    #[test]
    fn the_topology_alone_reads_no_counters() {
        let text = "subsystem 0 nqn=nqn.x:a firmware_rev=1.2\nhead 1 delayed_removal_secs=60 diag/io_requeue_no_usable_path_count=7\n\
            controller 0 address=traddr=10.0.0.1,trsvcid=1 diag/reset_count=2\nleg 1 optimized diag/command_error_count=5\n";
        let tree = unfolded(text);
        let scanner = Scanner::new(SysRoot::sysfs_only(tree.path()));
        let (alone, all) = (
            scanner.scan().unwrap(),
            scanner.with_detail(Detail::Everything).scan().unwrap(),
        );
        assert_eq!(head(&alone).delayed_removal, Some(Duration::from_secs(60)));
        assert_eq!(
            (
                alone.subsystems[0].firmware.as_deref(),
                &alone.controllers[0].kato
            ),
            (None, &Attr::Unset)
        );
        assert_eq!(all.subsystems[0].firmware.as_deref(), Some("1.2"));
        assert!(all.controllers[0].kato.value().is_some());
        assert_ne!(alone.controllers[0].counters, all.controllers[0].counters);
        assert_ne!(first_leg(&alone).counters, first_leg(&all).counters);
        assert_ne!(head(&alone).counters, head(&all).counters);
        // What is told of a host is the same.
        assert_eq!(
            serde_json::to_value(&alone).unwrap(),
            serde_json::to_value(&all).unwrap()
        );
    }

    #[test]
    fn the_rest_of_a_controller_is_read_while_one_attribute_hangs() {
        let path = "devices/virtual/nvme-fabrics/ctl/nvme0/transport";
        let blocked = tree::parse(TWO_PATHS).with_fault(path, tree::Fault::Blocks);
        let tree = unfold(&blocked.files(), 0);
        let host = patient(&tree).scan().unwrap();
        // `transport` is the first attribute that is read of a controller.
        let told = [(
            "nvme0".to_owned(),
            "transport: no answer in time".to_owned(),
        )];
        assert_eq!(unchecked(&host), told);
        assert_eq!(host.controllers[0].state, ControllerState::Live);
        assert!(host.controllers[0].hostnqn.value().is_some());
        assert_eq!(
            host.controllers[0].ctrl_loss_tmo.value(),
            host.controllers[1].ctrl_loss_tmo.value()
        );
    }

    #[test]
    fn each_layout_is_told_by_name_and_place() {
        let text = "subsystem 3 nqn=nqn.x:a\nhead 1\nnamespace 2\n\
            controller 5 address=traddr=10.0.0.1,trsvcid=1\nleg 1 optimized\nprivate 2\n";
        let host = scan(unfolded(text).path());
        let layouts: Vec<_> = host.subsystems[0]
            .namespaces
            .iter()
            .map(|ns| ns.legs[0].layout)
            .collect();
        assert_eq!(layouts, [Layout::Multipath, Layout::Private]);
        assert!(host.subsystems[0].namespaces[1].head.is_none());
        let host = scan(
            unfolded(&format!(
                "module multipath=N\n{}",
                text.replace("leg 1 optimized\nprivate", "disk")
                    .replace("head 1\n", "")
            ))
            .path(),
        );
        assert_eq!(first_leg(&host).layout, Layout::Plain);
    }

    #[test]
    fn one_legs_name_says_that_multipath_is_on_when_the_module_does_not() {
        let host = scan(unfolded(&format!("module -multipath\n{TWO_PATHS}")).path());
        assert_eq!(host.multipath, Some(Multipath::On));
        let host = scan(unfolded("module -multipath\nsubsystem 0 nqn=nqn.x:a\n").path());
        assert_eq!(host.multipath, None);
    }

    #[test]
    fn a_head_that_only_block_lists_is_found() {
        let tree = unfolded(TWO_PATHS);
        let home = tree
            .path()
            .join("devices/virtual/nvme-subsystem/nvme-subsys0");
        fs::remove_file(tree.path().join("block/nvme0n1")).unwrap();
        fs::rename(home.join("nvme0n1"), tree.path().join("block/nvme0n1")).unwrap();
        assert_eq!(head(&scan(tree.path())).size, Attr::Value(Sectors(204_800)));
    }

    #[test]
    fn each_absence_of_a_timeout_is_its_own() {
        let text = "subsystem 0 nqn=nqn.x:a\n\
            controller 0 address=traddr=10.0.0.1,trsvcid=1 ctrl_loss_tmo=off -fast_io_fail_tmo reconnect_delay=soon\n";
        let host = scan(unfolded(text).path());
        let controller = &host.controllers[0];
        assert_eq!(controller.ctrl_loss_tmo, Attr::Value(Limit::Off));
        assert_eq!(controller.fast_io_fail_tmo, Attr::Unset);
        assert_eq!(
            controller.reconnect_delay,
            Attr::Unreadable(Fault::Malformed)
        );
        let told = "reconnect_delay: not a value of this attribute".to_owned();
        assert_eq!(unchecked(&host), [("nvme0".to_owned(), told)]);
    }

    #[test]
    fn a_fabric_controller_without_a_loss_timeout_was_not_read_completely() {
        let text = "subsystem 0 nqn=nqn.x:a\n\
            controller 0 address=traddr=10.0.0.1,trsvcid=1 -ctrl_loss_tmo -reconnect_delay\n\
            controller 1 transport=pcie address=0000:61:00.0 -hostnqn -ctrl_loss_tmo -reconnect_delay\n";
        let host = scan(unfolded(text).path());
        let told = "ctrl_loss_tmo, reconnect_delay: missing".to_owned();
        assert_eq!(unchecked(&host), [("nvme0".to_owned(), told)]);
    }

    #[test]
    fn a_leg_in_the_wrong_place_is_named() {
        let tree = unfolded(TWO_PATHS);
        let home = tree.path().join("devices/virtual/nvme-fabrics/ctl/nvme1");
        fs::rename(home.join("nvme0c1n1"), home.join("nvme7c1n1")).unwrap();
        let host = scan(tree.path());
        assert_eq!(
            unchecked(&host)[0].1,
            "named after nvme-subsys7, found in nvme-subsys0"
        );
        assert_eq!(
            host.controller(ControllerName::from_instance(1))
                .unwrap()
                .state,
            ControllerState::Live
        );
    }

    #[test]
    fn a_controller_in_two_subsystems_is_named() {
        let tree = unfolded(&format!("{TWO_PATHS}subsystem 1 nqn=nqn.x:b\n"));
        let link = tree
            .path()
            .join("devices/virtual/nvme-subsystem/nvme-subsys1/nvme0");
        std::os::unix::fs::symlink("../../nvme-fabrics/ctl/nvme0", link).unwrap();
        let host = scan(tree.path());
        assert!(
            unchecked(&host)
                .iter()
                .any(|(object, reason)| object == "nvme0" && reason.contains("linked from"))
        );
    }
}
