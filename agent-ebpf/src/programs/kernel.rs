//! Reading the kernel's structs: offsets come from the agent, a failed read is a zero.

use aya_ebpf::helpers::{bpf_probe_read_kernel, generated};
use pathwarden_ebpf::{ABSENT, Controller};

macro_rules! statics {
    ($($global:ident $structure:ident $member:literal $owner:ident $required:ident,)*) => {
        $(#[unsafe(no_mangle)] static $global: u32 = ABSENT;)*
    };
}
pathwarden_ebpf::kernel_fields!(statics);

/// Fields, to be named by the other files.
pub mod offset {
    macro_rules! getters {
        ($($global:ident $structure:ident $member:literal $owner:ident $required:ident,)*) => {
            $(#[inline(always)] #[allow(non_snake_case, dead_code)] pub fn $global() -> u32 {
                // Volatile: the value is filled in after this is compiled.
                unsafe { core::ptr::read_volatile(&raw const super::$global) }
            })*
        };
    }
    pathwarden_ebpf::kernel_fields!(getters);
}

/// The `T` at `base + offset`; none when the field does not exist or cannot be read.
#[inline(always)]
pub fn try_read<T>(base: u64, offset: u32) -> Option<T> {
    if base == 0 || offset == ABSENT {
        return None;
    }
    unsafe { bpf_probe_read_kernel((base + offset as u64) as *const T) }.ok()
}

/// The same for a pointer or a number of 64 bits; 0 for none.
#[inline(always)]
pub fn read_u64(base: u64, offset: u32) -> u64 {
    try_read(base, offset).unwrap_or(0)
}

/// The same for 32 bits.
#[inline(always)]
pub fn read_u32(base: u64, offset: u32) -> u32 {
    try_read(base, offset).unwrap_or(0)
}

/// Copies `length` bytes at `source` to `target`; zeroes on failure are the helper's.
///
/// # Safety
/// `target` must be valid for `length` bytes.
#[inline(always)]
pub unsafe fn copy(target: *mut u8, source: u64, length: u32) {
    unsafe {
        generated::bpf_probe_read_kernel(target.cast(), length, source as *const _);
    }
}

/// Copies the text that the pointer at `base + offset` points to.
///
/// # Safety
/// `target` must be valid.
#[inline(always)]
pub unsafe fn copy_text<const N: usize>(target: *mut [u8; N], base: u64, offset: u32) {
    let text = read_u64(base, offset);
    unsafe { copy_text_at(target, text) };
}

/// Copies the text at `text`; empty if there is none.
///
/// # Safety
/// `target` must be valid.
#[inline(always)]
pub unsafe fn copy_text_at<const N: usize>(target: *mut [u8; N], text: u64) {
    unsafe {
        let copied = match text {
            0 => 0,
            _ => generated::bpf_probe_read_kernel_str(target.cast(), N as u32, text as *const _),
        };
        if copied <= 0 {
            (*target)[0] = 0;
        }
    }
}

/// The controller's words.
///
/// # Safety
/// `target` must be valid.
#[inline(always)]
pub unsafe fn fill_controller(target: *mut Controller, pointer: u64) {
    let options = read_u64(pointer, offset::CTRL_OPTS());
    unsafe {
        (*target).pointer = pointer;
        (*target).generation = generation(pointer);
        (*target).flags = read_u64(pointer, offset::CTRL_FLAGS());
        (*target).instance = read_u32(pointer, offset::CTRL_INSTANCE()) as i32;
        (*target).state = read_u32(pointer, offset::CTRL_STATE());
        (*target).reconnects = read_u32(pointer, offset::CTRL_NR_RECONNECTS()) as i32;
        (*target).cntlid = try_read(pointer, offset::CTRL_CNTLID()).unwrap_or(0);
        (*target).fabrics = (options != 0) as u8;
        (*target).discovery = try_read::<u8>(options, offset::OPTS_DISCOVERY()).unwrap_or(0);
        (*target).reserved = 0;
    }
}

/// Inode of the controller's sysfs directory: `ctrl->device->kobj.sd->id`.
#[inline(always)]
fn generation(pointer: u64) -> u64 {
    let device = read_u64(pointer, offset::CTRL_DEVICE());
    let kobject = offset::DEVICE_KOBJ();
    if device == 0 || kobject == ABSENT {
        return 0;
    }
    let node = read_u64(device + kobject as u64, offset::KOBJECT_SD());
    read_u64(node, offset::KERNFS_NODE_ID())
}
