//! `[[profile]]`: what is expected of a family of subsystems.

use std::time::Duration;

use super::document::{DocumentError, Field};
use crate::diagnose::Profile;

/// A migration's path is given back by the kernel itself after this long.
const MAX_CTRL_LOSS: Duration = Duration::from_secs(60);

/// The families that are known without configuration: simplyblock's volumes are served by every node they are
/// published on.
#[must_use]
pub fn built_in() -> Vec<Profile> {
    vec![Profile {
        pattern: "nqn.2023-02.io.simplyblock:*".to_owned(),
        every_controller_serves: true,
        max_ctrl_loss: MAX_CTRL_LOSS,
    }]
}

/// Reads one.
pub(super) fn read(field: &Field<'_>) -> Result<Profile, DocumentError> {
    let table = field.table(&["every_controller_serves", "match", "max_ctrl_loss_tmo"])?;
    Ok(Profile {
        pattern: table.require("match")?.string()?.to_owned(),
        every_controller_serves: match table.get("every_controller_serves") {
            Some(field) => field.boolean()?,
            None => false,
        },
        max_ctrl_loss: match table.get("max_ctrl_loss_tmo") {
            Some(field) => field.length()?,
            None => MAX_CTRL_LOSS,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn profiles_come_before_the_built_in_ones() {
        let text = "[[profile]]\nmatch = \"nqn.2023-02.io.simplyblock:lab:*\"\n";
        let config = parse("config.toml", text).unwrap();
        assert_eq!(config.profiles.len(), 2);
        assert!(!config.profiles[0].every_controller_serves);
        assert_eq!(config.profiles[1..], built_in());
    }

    #[test]
    fn a_profile_must_say_what_it_matches() {
        let error = parse(
            "config.toml",
            "[[profile]]\nevery_controller_serves = true\n",
        )
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "config.toml:1: profile[0].match: missing"
        );
    }
}
