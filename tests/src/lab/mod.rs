//! The lab: what a scenario needs inside the guest. Runs under QEMU only; nothing here is for a real host.

pub mod protocol;
