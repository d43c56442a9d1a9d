//! The programs, one file a subject. They run on the control path: none is attached to a function that a successful I/O
//! passes, but for `head_submit_bio`, and that only while a window is open.
//!
//! Rules they keep: read what is there now, at function entry, and say so with the boot clock; decide nothing but
//! whether the call is an event at all (many calls are refused by the kernel); never block, never loop over I/O.

/// A debug line of a program, for whoever works on it. Without the feature `log` it is nothing.
macro_rules! debug_line {
    ($ctx:expr, $($words:tt)*) => {
        #[cfg(feature = "log")]
        aya_log_ebpf::debug!($ctx, $($words)*);
    };
}

mod connect;
mod controller;
mod emit;
mod head;
mod kernel;
mod leg;
mod snapshot;

/// Helpers like `bpf_probe_read_kernel` are for GPL-compatible programs.
#[unsafe(no_mangle)]
#[unsafe(link_section = "license")]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // The verifier refuses a program that can get here.
    loop {}
}
