//! The kernel's probes, whoever set them.

use std::path::Path;

use anyhow::Result;

use super::attribute;

const LIST: &str = "/sys/kernel/debug/kprobes/list";

/// Whether there is a probe in this function, at its entry or its return.
pub fn is_probed(function: &str) -> Result<bool> {
    Ok(lists(&attribute::read(Path::new(LIST))?, function))
}

/// A line is an address, the kind, the function with an offset, and for modules and optimised probes more. The entry is at
/// +0x0, or where branches are tracked (CONFIG_X86_KERNEL_IBT) behind the landing mark at +0x4.
fn lists(list: &str, function: &str) -> bool {
    list.lines().any(|line| {
        let place = line.split_whitespace().nth(2).unwrap_or_default();
        let found = place.split_once('+').map(|(name, _)| name);
        found == Some(function)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_found_by_its_whole_function() {
        let list = "ffffffffc0a1b2c0  k  nvme_ns_head_submit_bio+0x0  nvme_core [FTRACE]\n\
                    ffffffffc0a1c000  r  nvme_mpath_add_disk+0x4  nvme_core\n";
        for probed in ["nvme_ns_head_submit_bio", "nvme_mpath_add_disk"] {
            assert!(lists(list, probed), "{probed}");
        }
        for other in ["nvme_ns_head_submit", "nvme_core", ""] {
            assert!(!lists(list, other), "{other}");
        }
    }
}
