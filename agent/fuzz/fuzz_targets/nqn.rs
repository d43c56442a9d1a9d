//! Names: NQNs, UUIDs and the kernel's instance names. What is read must survive being written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pathwarden::fabric::{ControllerName, DiskName, Nqn, SubsystemName, Uuid};

fn survives<T: std::str::FromStr + ToString>(text: &str, exactly: bool) {
    if let Ok(name) = text.parse::<T>() {
        let written = name.to_string();
        assert!(!exactly || written == text, "{text}");
        assert!(written.parse::<T>().is_ok_and(|again| again.to_string() == written), "{text}");
    }
}

fuzz_target!(|text: &str| {
    if let Some(nqn) = Nqn::from_sysfs(text) {
        let document = serde_json::to_string(&nqn).expect("names are texts");
        let read: Nqn = serde_json::from_str(&document).expect("what was written can be read");
        assert_eq!(read, nqn);
        assert_eq!(text.strip_suffix('\n').unwrap_or(text), nqn.as_str());
    }
    survives::<ControllerName>(text, true);
    survives::<SubsystemName>(text, true);
    survives::<DiskName>(text, true);
    // Capitals are read and not written.
    survives::<Uuid>(text, false);
});
