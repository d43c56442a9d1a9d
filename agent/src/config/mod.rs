//! Settings, and the documents that people and control planes write: TOML, read strictly.
//!
//! Owns the files' form: keys, defaults, units, what a mistake is called. An unknown key is an error that names the
//! nearest known one, because a misspelt setting would otherwise be a default that nobody wanted. It holds no rule:
//! what a setting means is for the module that uses it. The core never comes here; it is handed what it needs.

mod desired;
mod document;
mod environment;
mod keys;
mod length;
mod nearest;
mod profile;
mod rate;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use desired::{load_desired, parse_desired};
pub use document::DocumentError;
pub use length::{WHAT as A_LENGTH, parse as parse_length};
pub use profile::built_in as built_in_profiles;

use crate::diagnose::{Policy, Profile};
use crate::fabric::{Nqn, Uuid};
use crate::watch::{Bounds, Rate};

/// Where the settings are unless a flag says otherwise.
pub const DEFAULT_PATH: &str = "/etc/pathwarden/config.toml";

/// The settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Who this host is, if not what `/etc/nvme` says.
    pub host: Host,
    /// What the agent may do by itself.
    pub repair: Repair,
    /// What is expected.
    pub desired: DesiredBounds,
    /// When a controller counts as abandoned.
    pub leak: Leak,
    /// How long a cutover may take.
    pub cutover: Cutover,
    /// What is kept, and where.
    pub store: Store,
    /// How the host is watched.
    pub watch: Watch,
    /// The kernel's probes.
    pub probe: Probe,
    /// Families of subsystems; the first that matches holds, the built-in ones come last.
    pub profiles: Vec<Profile>,
}

/// `[host]`: who this host is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Host {
    /// Its NQN.
    pub nqn: Option<Nqn>,
    /// Its id.
    pub id: Option<Uuid>,
}

/// What the agent may do on its own initiative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Look only.
    Observe,
    /// Say what it would do.
    DryRun,
    /// Do it.
    Act,
}

/// `[repair]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repair {
    /// What the agent may do by itself.
    pub mode: Mode,
    /// Nothing younger is repaired.
    pub min_age: Duration,
    /// The pause before an identity is repaired again.
    pub cool_down: Duration,
    /// Repairs an hour, of the whole node.
    pub per_hour: u32,
    /// A delete that takes longer hangs.
    pub delete_hung: Duration,
}

/// `[desired]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DesiredBounds {
    /// How old a desired state may be that does not say it itself.
    pub max_age: Duration,
}

/// `[leak]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leak {
    /// How long a controller must have been not live.
    pub connecting_after: Duration,
    /// How many attempts in a row the target must have rejected.
    pub rejections: u32,
}

/// `[cutover]`. All bounds are exclusive: a window of exactly the bound is within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cutover {
    /// What a cutover takes by design.
    pub design: Duration,
    /// Longer ones are worth a warning.
    pub warn: Duration,
    /// Longer ones are worth a page.
    pub critical: Duration,
    /// Windows closer together than this are one freeze.
    pub freeze_gap: Duration,
    /// Shorter freezes are windows only.
    pub freeze_min: Duration,
    /// The span in which freezes of an unknown migration are counted.
    pub freeze_span: Duration,
}

/// `[store]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    /// The folder of what outlives the agent.
    pub path: PathBuf,
    /// How many windows that have ended are kept.
    pub keep: u32,
    /// How long they are kept.
    pub max_age: Duration,
}

/// `[watch]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watch {
    /// How often sysfs is looked at without probes.
    pub poll: Duration,
    /// How often the kernel's true words are compared with the model.
    pub audit: Duration,
    /// When a window whose head is gone is given up.
    pub lost_after: Duration,
    /// More ANA changes of a leg are flapping.
    pub flapping: Rate,
    /// More failed-over I/Os of a usable leg are bouncing.
    pub bouncing: Rate,
}

/// `[probe]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// The ring between kernel and agent: a power of two, at least a page.
    pub ring_bytes: u32,
}

impl Default for Config {
    fn default() -> Self {
        let (millis, seconds) = (Duration::from_millis, Duration::from_secs);
        // What the core does by itself is what nobody has set otherwise.
        let (policy, bounds) = (Policy::default(), Bounds::default());
        Self {
            host: Host::default(),
            repair: Repair {
                mode: Mode::Observe,
                min_age: policy.min_age,
                cool_down: seconds(300),
                per_hour: 6,
                delete_hung: policy.delete_hung,
            },
            desired: DesiredBounds {
                max_age: seconds(600),
            },
            leak: Leak {
                connecting_after: policy.connecting_after,
                rejections: policy.rejections,
            },
            cutover: Cutover {
                design: bounds.design,
                warn: bounds.warn,
                critical: bounds.critical,
                freeze_gap: bounds.freeze_gap,
                freeze_min: bounds.freeze_min,
                freeze_span: bounds.freeze_span,
            },
            store: Store {
                path: PathBuf::from("/var/lib/pathwarden"),
                keep: 10_000,
                max_age: seconds(90 * 86_400),
            },
            watch: Watch {
                poll: millis(200),
                audit: seconds(30),
                lost_after: bounds.lost_after,
                flapping: bounds.flapping,
                bouncing: bounds.bouncing,
            },
            probe: Probe {
                ring_bytes: 512 * 1024,
            },
            profiles: profile::built_in(),
        }
    }
}

impl Config {
    /// The bounds of a diagnosis.
    #[must_use]
    pub fn policy(&self) -> Policy {
        Policy {
            min_age: self.repair.min_age,
            delete_hung: self.repair.delete_hung,
            connecting_after: self.leak.connecting_after,
            rejections: self.leak.rejections,
        }
    }

    /// The bounds of the watch.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        Bounds {
            design: self.cutover.design,
            warn: self.cutover.warn,
            critical: self.cutover.critical,
            freeze_gap: self.cutover.freeze_gap,
            freeze_min: self.cutover.freeze_min,
            freeze_span: self.cutover.freeze_span,
            lost_after: self.watch.lost_after,
            flapping: self.watch.flapping,
            bouncing: self.watch.bouncing,
        }
    }
}

/// Settings could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be opened or read.
    #[error("reading {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// What is in it is not right.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// An environment variable's value is not right.
    #[error("environment variable {name}: {problem}")]
    Environment {
        /// The variable.
        name: String,
        /// What is wrong with its value.
        problem: String,
    },
    /// Two settings contradict each other.
    #[error("{problem}")]
    Contradiction {
        /// Which ones.
        problem: String,
    },
}

/// Reads the settings: defaults, then the file, then the environment. A file that nobody named need not exist.
///
/// # Errors
/// When a named file cannot be read, or anything in a file or in the environment is not right.
pub fn load(
    path: Option<&Path>,
    environment: impl IntoIterator<Item = (String, String)>,
) -> Result<Config, ConfigError> {
    let mut config = Config::default();
    match (
        fs::read_to_string(path.unwrap_or(Path::new(DEFAULT_PATH))),
        path,
    ) {
        (Ok(text), _) => {
            let file = path.map_or(DEFAULT_PATH.to_owned(), |path| path.display().to_string());
            keys::apply_document(&mut config, &file, &text)?;
        }
        (Err(error), None) if error.kind() == io::ErrorKind::NotFound => {}
        (Err(source), _) => {
            let path = path.unwrap_or(Path::new(DEFAULT_PATH)).to_owned();
            return Err(ConfigError::Read { path, source });
        }
    }
    environment::apply(&mut config, environment)?;
    check(&config)?;
    Ok(config)
}

/// Reads settings from a text, without the environment. `file` names it in errors.
///
/// # Errors
/// When anything in it is not right.
pub fn parse(file: &str, text: &str) -> Result<Config, ConfigError> {
    let mut config = Config::default();
    keys::apply_document(&mut config, file, text)?;
    check(&config)?;
    Ok(config)
}

fn check(config: &Config) -> Result<(), ConfigError> {
    let Cutover {
        design,
        warn,
        critical,
        ..
    } = config.cutover;
    let contradiction = |problem: &str| {
        Err(ConfigError::Contradiction {
            problem: problem.to_owned(),
        })
    };
    let ring = config.probe.ring_bytes;
    if !ring.is_power_of_two() || ring < 4096 {
        return contradiction("probe.ring_bytes is not a power of two of at least 4096");
    }
    if design > warn {
        return contradiction("cutover.warn is less than cutover.design");
    }
    if warn > critical {
        return contradiction("cutover.critical is less than cutover.warn");
    }
    if config.host.id.is_some() && config.host.nqn.is_none() {
        return contradiction("host.id is set without host.nqn; the two go together");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse("config.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn nothing_written_is_the_defaults() {
        assert_eq!(parse("config.toml", "").unwrap(), Config::default());
    }

    #[test]
    fn what_is_written_holds() {
        let config = parse(
            "config.toml",
            "[repair]\nmode = \"dry-run\"\nmin_age = \"45s\"\nper_hour = 2\n[cutover]\nfreeze_gap = \"250ms\"\n\
             [host]\nnqn = \"nqn.x:a\"\n",
        )
        .unwrap();
        assert_eq!(config.repair.mode, Mode::DryRun);
        assert_eq!(config.repair.min_age, Duration::from_secs(45));
        assert_eq!(config.repair.per_hour, 2);
        assert_eq!(config.cutover.freeze_gap, Duration::from_millis(250));
        assert_eq!(config.host.nqn, Some(Nqn::new("nqn.x:a")));
        assert_eq!(config.repair.cool_down, Config::default().repair.cool_down);
    }

    #[test]
    fn an_unknown_key_names_the_nearest_known_one() {
        assert_eq!(
            error("[repair]\n\nmin_aeg = \"45s\"\n"),
            "config.toml:3: repair.min_aeg: unknown key; did you mean min_age?"
        );
        assert_eq!(
            error("[repairs]\nmode = \"act\"\n"),
            "config.toml:1: repairs: unknown key; did you mean repair?"
        );
        assert_eq!(
            error("zzz = 1\n"),
            "config.toml:1: zzz: unknown key; known are cutover, desired, host, leak, probe, profile, repair, store, watch"
        );
    }

    #[test]
    fn a_wrong_type_names_file_line_and_field() {
        assert_eq!(
            error("[repair]\nmin_age = 45\n"),
            "config.toml:2: repair.min_age: expected a length of time such as \"30s\", found an integer"
        );
        assert_eq!(
            error("[repair]\nmode = \"yes\"\n"),
            "config.toml:2: repair.mode: expected \"observe\", \"dry-run\" or \"act\", found \"yes\""
        );
        assert_eq!(
            error("repair = 3\n"),
            "config.toml:1: repair: expected a table, found an integer"
        );
        assert_eq!(
            error("[repair]\nper_hour = -1\n"),
            "config.toml:2: repair.per_hour: expected a number from 0 to 4294967295, found -1"
        );
        assert_eq!(
            error("[store]\npath = \"\"\n"),
            "config.toml:2: store.path: empty"
        );
    }

    #[test]
    fn a_file_that_is_not_toml_says_where() {
        assert!(
            error("[repair\n").starts_with("config.toml:1: "),
            "{}",
            error("[repair\n")
        );
    }

    #[test]
    fn bounds_that_contradict_each_other_are_refused() {
        assert_eq!(
            error("[cutover]\nwarn = \"1s\"\n"),
            "cutover.warn is less than cutover.design"
        );
        assert_eq!(
            error("[host]\nid = \"00000001-0000-4000-8000-000000000001\"\n"),
            "host.id is set without host.nqn; the two go together"
        );
    }

    #[test]
    fn a_file_that_somebody_named_must_be_there() {
        let missing = Path::new("/nonexistent/config.toml");
        assert!(matches!(
            load(Some(missing), []),
            Err(ConfigError::Read { .. })
        ));
    }
}
