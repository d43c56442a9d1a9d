//! A small NVMe/TCP target in user space whose behaviour is a script.
//!
//! It makes the faults that the kernel's own target cannot: two targets with one NQN (so a controller without
//! namespaces beside a serving one), rejections without "do not retry", an ANA log that hangs, repeated controller
//! numbers, connections that are accepted and dropped. Where the kernel's target can, scenarios use that
//! (`lab::target`). The Linux host driver accepts this one: connect, scan, I/O, disconnect.
//!
//! | file | what |
//! |---|---|
//! | `plan` | what a target is made of, plain data |
//! | `script` | what a port does instead of what it should, plain data |
//! | `running`, `port/` | the running thing and what can be done to it live |
//! | `transcript` | what it saw and did, for tests to assert on |
//! | `order` | the same from outside the process, one JSON object a line (`scripted-target`) |
//! | `queue/`, `controller/`, `command/` | connections, associations, what commands mean |
//! | `pages/`, `wire/` | bytes: Identify and logs; PDUs and queue entries |
//! | `initiator/` | a host just good enough to test the target without a kernel |
//!
//! What it is not: fast, safe on a network, or complete. No authentication, no TLS, no digests, no discovery, no
//! keep-alive timer of its own (a host that falls silent is never dropped for it).
//!
//! One thread accepts for each port and one reads for each connection; answers are written by whoever has them.

mod ana;
mod command;
mod controller;
mod ids;
pub mod initiator;
pub mod limits;
mod order;
mod pages;
mod plan;
mod port;
mod queue;
mod running;
mod script;
mod status;
mod subsystem;
mod sync;
#[cfg(test)]
mod tests;
mod timer;
mod transcript;
mod wire;

pub use ana::{AnaState, Announce};
pub use command::Verb;
pub use controller::Event;
pub use ids::{Cntlid, GroupId, Nsid, QueueId, Uuid};
pub use order::{Order, Reply};
pub use plan::{ExportPlan, NamespacePlan, Plan, PortPlan, SubsystemPlan};
pub use port::Port;
pub use running::Target;
pub use script::{Act, Behaviour, On, Rule};
pub use status::Status;
pub use transcript::{Counters, Entry, Note, Snapshot, Transcript};
