//! How much memory a large model takes.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "in a test a failure is the report"
)]

mod tree;

use std::alloc::System;
use std::fmt::Write as _;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

mod host {
    use super::*;
    use pathwarden::host::SysRoot;
    use pathwarden::host::sysfs;

    #[test]
    fn a_model_of_2000_controllers_stays_below_16_mib() {
        let mut text = String::new();
        for subsystem in 0..1_000 {
            write!(
                text,
                "subsystem {subsystem} nqn=nqn.2023-02.io.simplyblock:pool:lvol:{subsystem}\n\
                 head 1 uuid=00000001-0000-4000-8000-{subsystem:012}\n\
                 controller {} address=traddr=10.0.0.1,trsvcid=4426,src_addr=10.9.9.9\nleg 1 optimized\n\
                 controller {} address=traddr=10.0.0.2,trsvcid=4426,src_addr=10.9.9.9\nleg 1 optimized\n",
                subsystem * 2,
                subsystem * 2 + 1,
            )
            .unwrap();
        }
        let unfolded = super::tree::unfold(&super::tree::parse(&text).files(), 0);
        let root = SysRoot::sysfs_only(unfolded.path());
        let region = Region::new(ALLOCATOR);
        let host = sysfs::scan(&root).unwrap();
        let used = region.change();
        let held = used.bytes_allocated.wrapping_sub(used.bytes_deallocated);
        assert_eq!(host.controllers.len(), 2_000);
        println!("{held} bytes for {} controllers", host.controllers.len());
        assert!(held < 16 << 20, "{held}");
    }
}
