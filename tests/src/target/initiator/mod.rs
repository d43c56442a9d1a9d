//! A host just good enough to test the target without a kernel: one command at a time, everything checked by hand.
//!
//! It goes through the steps of the Linux driver in its order. It reads and writes the wire by the specification's
//! offsets on its own, and shares no code with the target: a mistake in one is not hidden by the same in the other.

mod association;
mod queue;
mod submission;

pub use association::{Association, GroupSeen, HostName};
pub use queue::{Completion, Failure, Outgoing, Queue};
pub use submission::Submission;
