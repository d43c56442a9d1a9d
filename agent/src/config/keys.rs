//! The keys: one table of them, which reading a file and reading the environment both follow.

use std::path::PathBuf;

use super::document::{DocumentError, Field, Source, Table};
use super::{Config, Mode, profile};

/// Sets one key from a field of a document.
type Set = fn(&mut Config, &Field<'_>) -> Result<(), DocumentError>;

/// A section's name, and its keys with what each sets.
pub(super) type Section = (&'static str, &'static [(&'static str, Set)]);

macro_rules! set {
    ($section:ident . $key:ident, $kind:ident) => {
        |config, field| {
            config.$section.$key = field.$kind()?;
            Ok(())
        }
    };
}

/// Every section but the lists of tables.
pub(super) const SECTIONS: [Section; 8] = [
    (
        "cutover",
        &[
            ("critical", set!(cutover.critical, length)),
            ("design", set!(cutover.design, length)),
            ("freeze_gap", set!(cutover.freeze_gap, length)),
            ("freeze_min", set!(cutover.freeze_min, length)),
            ("freeze_span", set!(cutover.freeze_span, length)),
            ("warn", set!(cutover.warn, length)),
        ],
    ),
    ("desired", &[("max_age", set!(desired.max_age, length))]),
    (
        "host",
        &[
            ("id", |config, field| {
                config.host.id = Some(field.parsed("a UUID")?);
                Ok(())
            }),
            ("nqn", |config, field| {
                config.host.nqn = Some(field.string()?.into());
                Ok(())
            }),
        ],
    ),
    (
        "leak",
        &[
            ("connecting_after", set!(leak.connecting_after, length)),
            ("rejections", set!(leak.rejections, number)),
        ],
    ),
    ("probe", &[("ring_bytes", set!(probe.ring_bytes, number))]),
    (
        "repair",
        &[
            ("cool_down", set!(repair.cool_down, length)),
            ("delete_hung", set!(repair.delete_hung, length)),
            ("min_age", set!(repair.min_age, length)),
            ("mode", |config, field| {
                config.repair.mode = mode(field)?;
                Ok(())
            }),
            ("per_hour", set!(repair.per_hour, number)),
        ],
    ),
    (
        "store",
        &[
            ("keep", set!(store.keep, number)),
            ("max_age", set!(store.max_age, length)),
            ("path", |config, field| {
                config.store.path = path(field)?;
                Ok(())
            }),
        ],
    ),
    (
        "watch",
        &[
            ("audit", set!(watch.audit, length)),
            ("bouncing", set!(watch.bouncing, rate)),
            ("flapping", set!(watch.flapping, rate)),
            ("lost_after", set!(watch.lost_after, length)),
            ("poll", set!(watch.poll, length)),
        ],
    ),
];

/// Applies a document to the settings.
pub(super) fn apply_document(
    config: &mut Config,
    file: &str,
    text: &str,
) -> Result<(), DocumentError> {
    let source = Source { file, text };
    let document = source.parse()?;
    let mut known: Vec<&str> = SECTIONS
        .iter()
        .map(|(name, _)| *name)
        .chain(["profile"])
        .collect();
    known.sort_unstable();
    let top = Table::top(source, &document, &known)?;
    for (section, keys) in SECTIONS {
        let Some(field) = top.get(section) else {
            continue;
        };
        let known: Vec<&str> = keys.iter().map(|(key, _)| *key).collect();
        let table = field.table(&known)?;
        for (key, set) in keys {
            if let Some(field) = table.get(key) {
                set(config, &field)?;
            }
        }
    }
    if let Some(list) = top.get("profile") {
        let own = list
            .list()?
            .iter()
            .map(profile::read)
            .collect::<Result<Vec<_>, _>>()?;
        config.profiles.splice(0..0, own);
    }
    Ok(())
}

fn path(field: &Field<'_>) -> Result<PathBuf, DocumentError> {
    match field.string()? {
        "" => Err(field.error("empty".to_owned())),
        path => Ok(path.into()),
    }
}

fn mode(field: &Field<'_>) -> Result<Mode, DocumentError> {
    const WHAT: &str = "expected \"observe\", \"dry-run\" or \"act\"";
    match field.string()? {
        "observe" => Ok(Mode::Observe),
        "dry-run" => Ok(Mode::DryRun),
        "act" => Ok(Mode::Act),
        other => Err(field.error(format!("{WHAT}, found \"{other}\""))),
    }
}
