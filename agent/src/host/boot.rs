//! Which boot this is.

/// The running kernel's boot id; boot-clock times of different boots are not of one axis. Empty if it cannot be read.
#[must_use]
pub fn id() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim_end().to_owned()
}

/// The running kernel's release.
#[must_use]
pub fn kernel() -> String {
    let uname = rustix::system::uname();
    uname.release().to_string_lossy().into_owned()
}
