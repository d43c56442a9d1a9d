//! Settings from the environment: `PATHWARDEN_REPAIR_MIN_AGE=45s` is `repair.min_age`.

use super::document::{Source, Table};
use super::keys::SECTIONS;
use super::{Config, ConfigError};

const PREFIX: &str = "PATHWARDEN_";

/// Applies the variables that name a setting. Others that begin alike are somebody else's: container platforms make
/// up variables of a service's name.
pub(super) fn apply(
    config: &mut Config,
    environment: impl IntoIterator<Item = (String, String)>,
) -> Result<(), ConfigError> {
    let mut variables: Vec<(String, String)> = environment
        .into_iter()
        .filter(|(name, _)| name.starts_with(PREFIX))
        .collect();
    variables.sort();
    for (name, value) in variables {
        let Some((section, key)) = setting(&name) else {
            continue;
        };
        // A variable is read as the one line of a document that it stands for: a number as it is, the rest quoted.
        let literal = if value.parse::<i64>().is_ok() && !expects_text(section, key) {
            value.clone()
        } else {
            toml::Value::String(value.clone()).to_string()
        };
        let text = format!("{section}.{key} = {literal}");
        let source = Source {
            file: &name,
            text: &text,
        };
        let wrong = |error: super::DocumentError| ConfigError::Environment {
            name: name.clone(),
            problem: error.problem,
        };
        let document = source.parse().map_err(wrong)?;
        let top = Table::top(source, &document, &[section]).map_err(wrong)?;
        let Some(field) = top.get(section) else {
            continue;
        };
        let table = field.table(&[key]).map_err(wrong)?;
        let set = SECTIONS
            .iter()
            .find(|(name, _)| *name == section)
            .and_then(|(_, keys)| keys.iter().find(|(name, _)| *name == key));
        if let (Some((_, set)), Some(field)) = (set, table.get(key)) {
            set(config, &field).map_err(wrong)?;
        }
    }
    Ok(())
}

/// The setting that a variable names.
fn setting(variable: &str) -> Option<(&'static str, &'static str)> {
    let name = variable.strip_prefix(PREFIX)?.to_ascii_lowercase();
    SECTIONS.iter().find_map(|(section, keys)| {
        let key = name.strip_prefix(section)?.strip_prefix('_')?;
        keys.iter()
            .find(|(known, _)| *known == key)
            .map(|(known, _)| (*section, *known))
    })
}

/// Names are texts even when they look like numbers.
fn expects_text(section: &str, key: &str) -> bool {
    section == "host" || (section, key) == ("store", "path")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn applied(variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let mut config = Config::default();
        let owned = variables
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
        apply(&mut config, owned).map(|()| config)
    }

    #[test]
    fn a_variable_overrides_its_setting() {
        let config = applied(&[
            ("PATHWARDEN_REPAIR_MIN_AGE", "45s"),
            ("PATHWARDEN_REPAIR_PER_HOUR", "2"),
            ("PATHWARDEN_HOST_NQN", "7"),
            ("PATHWARDEN_CUTOVER_FREEZE_GAP", "1s"),
            ("PATHWARDEN_STORE_PATH", "8"),
            ("PATHWARDEN_STORE_KEEP", "9"),
        ])
        .unwrap();
        assert_eq!(config.repair.min_age, Duration::from_secs(45));
        assert_eq!(config.repair.per_hour, 2);
        assert_eq!(config.host.nqn, Some("7".into()));
        assert_eq!(config.cutover.freeze_gap, Duration::from_secs(1));
        assert_eq!(config.store.path, std::path::Path::new("8"));
        assert_eq!(config.store.keep, 9);
    }

    #[test]
    fn a_value_that_is_not_right_names_its_variable() {
        let error = applied(&[("PATHWARDEN_REPAIR_MIN_AGE", "soon")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "environment variable PATHWARDEN_REPAIR_MIN_AGE: expected a length of time such as \"30s\", found \"soon\""
        );
    }

    #[test]
    fn what_a_platform_makes_up_is_left_alone() {
        assert_eq!(
            applied(&[("PATHWARDEN_SERVICE_HOST", "10.0.0.1")]).unwrap(),
            Config::default()
        );
    }
}
