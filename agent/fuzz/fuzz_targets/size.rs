//! Numbers: timeouts, and every length, number and name of the two documents that people write.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use pathwarden::config::{self, DesiredBounds};
use pathwarden::fabric::{AnaState, ControllerState, Limit};

fuzz_target!(|text: &str| {
    if let Some(Limit::After(length)) = Limit::from_sysfs(text) {
        assert_eq!(Limit::from_sysfs(&length.as_secs().to_string()), Some(Limit::After(length)));
    }
    let _any = (ControllerState::from_sysfs(text), AnaState::from_sysfs(text));
    if let Err(error) = config::parse("config.toml", text) {
        assert!(!error.to_string().is_empty());
    }
    let bounds = DesiredBounds { max_age: Duration::from_secs(600) };
    if let Err(error) = config::parse_desired("desired.toml", text, bounds) {
        assert!(error.line >= 1 && error.line <= text.lines().count() + 1);
    }
});
