//! What this target offers at most. Fixed: scripts change what it does, not what it is.

/// Entries of a queue (MQES + 1, MAXCMD).
pub const QUEUE_ENTRIES: u16 = 128;
/// I/O queues of a controller that a host gets at most, unless the port's plan says less.
pub const IO_QUEUES: u16 = 16;
/// In-capsule data, bytes; a longer write asks for an R2T. The admin queue has the same by the transport's rule
/// (8 KiB), so one limit does for both.
pub const IN_CAPSULE: u32 = 8 << 10;
/// Data of one H2CData PDU, bytes (MAXH2CDATA); small enough that a write of 128 KiB comes in several.
pub const H2C_DATA: u32 = 32 << 10;
/// Log2 of the data of one command in pages of 4 KiB (MDTS): 1 MiB.
pub const MDTS: u8 = 8;
/// Data of one command, bytes.
pub const TRANSFER: u32 = 4096 << MDTS;
/// Asynchronous event requests that are parked (AERL + 1).
pub const PARKED_EVENTS: usize = 4;
/// Highest namespace number and most namespaces (NN, MNAN).
pub const NAMESPACES: u32 = 1024;
/// Highest ANA group number and most groups (ANAGRPMAX, NANAGRPID).
pub const ANA_GROUPS: u32 = 32;
/// Longest that a group is in transition, seconds (ANATT).
pub const ANA_TRANSITION_SECONDS: u8 = 10;
/// Granularity of the keep-alive timeout in 100 ms (KAS): one second.
pub const KEEP_ALIVE_GRANULARITY: u16 = 10;
