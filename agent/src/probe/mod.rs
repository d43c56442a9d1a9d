//! Where events come from: BPF probes on the NVMe host driver, and a comparison of looks at sysfs where there are none;
//! uevents and network links beside both.
//!
//! Owns: the BPF object, the kernel's type information, which functions are probed, records and their order, what was
//! lost. Hands out [`Envelope`](crate::event::Envelope)s in the order of their times. Decides nothing about volumes.

mod attach;
pub mod btf;
mod debug_lines;
mod decode;
mod decoder;
mod fields;
mod links;
#[cfg(test)]
mod netns;
pub mod object;
mod order;
mod plan;
mod poll;
mod programs;
mod reader;
mod ring;
mod runs;
mod translate;
mod uevents;
mod unavailable;

pub use attach::{AttachReport, Attached, ProbeState, attach};
pub use decode::Malformed;
pub use decoder::Decoder;
pub use fields::{BTF_DIR, KernelFields, resolve};
pub use links::{Change as LinkChange, LinkEvent, Links, LinksError};
pub use order::Order;
pub use plan::{PROBES, Probe, Site, When};
pub use poll::Differences;
pub use programs::Programs;
pub use reader::Reader;
pub use ring::Ring;
pub use runs::{Runs, are_counted, runs};
pub use uevents::{ControllerChange, HeadChange, NvmeEvent, Presence, Uevent, Uevents};
pub use unavailable::Unavailable;
