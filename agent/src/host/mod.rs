//! The only code that reads or writes the kernel's files, and the clock.
//!
//! Owns where the files are ([`SysRoot`]), the scan of sysfs into a [`crate::fabric::Host`], and the
//! clocks. It decides nothing: what a value means is `fabric`, what is wrong is `diagnose`.

pub mod boot;
pub mod clock;
pub mod node;
mod root;
pub mod sysfs;

pub use root::SysRoot;
