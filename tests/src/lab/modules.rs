//! Modules of the running kernel, taken out and put back by scenarios that need them otherwise than the guest booted with.

use std::ffi::{CStr, CString};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::io::Errno;
use rustix::system::delete_module;

use super::attribute;
use super::wait::{self, Look};
use crate::guest::modules;

/// What uses a module lets go of it a moment after its last controller has gone.
const LET_GO: Duration = Duration::from_secs(10);

/// Loads a module, and what it needs with it.
pub fn load(name: &str, parameters: &CStr) -> Result<()> {
    modules::load_one(&modules::folder(), name, parameters)
}

/// Loads again all that the guest booted with.
pub fn load_all() -> Result<()> {
    modules::load_all(&modules::folder())
}

/// Takes a module out of the kernel, and first the modules that use it.
pub fn unload(name: &str) -> Result<()> {
    let key = modules::key(name);
    let dir = Path::new("/sys/module").join(&key);
    for user in attribute::entries(&dir.join("holders"))? {
        unload(&attribute::name(&user))?;
    }
    let module = CString::new(key).context("a module's name")?;
    wait::until(
        &format!("module {name} to go"),
        LET_GO,
        || match delete_module(&module, non_blocking()) {
            Ok(()) | Err(Errno::NOENT) => Ok(Look::Seen(())),
            Err(busy @ (Errno::AGAIN | Errno::BUSY)) => Ok(Look::NotYet(busy.to_string())),
            Err(errno) => Err(errno).with_context(|| format!("unload {name}")),
        },
    )
}

/// Without it the kernel would wait for users that never go.
fn non_blocking() -> i32 {
    i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default()
}
