//! Where events come from: BPF probes on the NVMe host driver, and a comparison of looks at sysfs where there are none.
//!
//! Owns: the BPF object, the kernel's type information, which functions are probed, records and their order, what was
//! lost. Hands out [`Envelope`](crate::event::Envelope)s in the order of their times. Decides nothing about volumes.

mod attach;
pub mod btf;
mod debug_lines;
mod decode;
mod fields;
pub mod object;
mod order;
mod plan;
mod poll;

mod reader;
mod ring;
mod translate;
mod unavailable;

pub use attach::{AttachReport, Attached, ProbeState, Programs, attach};
pub use fields::{BTF_DIR, KernelFields, resolve};
pub use order::Order;
pub use plan::{PROBES, Probe, Site};
pub use poll::Differences;

pub use reader::Reader;
pub use ring::Ring;
pub use unavailable::Unavailable;
