//! The exclusion list that NVMe tools share: `exclusions.conf`, and files in the folder beside it.
//!
//! ```text
//! [exclusions]
//! exclusion = transport=tcp;traddr=10.0.0.1
//! ```

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::unreadable;
use crate::diagnose::{Exclusion, Fact};

/// Folders of further lists, by the names that versions of the tools have for them.
const FOLDERS: [&str; 2] = ["exclusions", "exclusions.conf.d"];

/// Reads every list. No file means that nothing is excluded.
pub(super) fn read(etc: &Path) -> Fact<Vec<Exclusion>> {
    let mut list = Vec::new();
    let files = match files(etc) {
        Ok(files) => files,
        Err(error) => return unreadable(etc, &error),
    };
    for file in files {
        match fs::read_to_string(&file) {
            Ok(text) => list.extend(parse(&text)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return unreadable(&file, &error),
        }
    }
    Fact::Known(list)
}

fn files(etc: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = vec![etc.join("exclusions.conf")];
    for folder in FOLDERS {
        match fs::read_dir(etc.join(folder)) {
            Ok(entries) => {
                for entry in entries {
                    let path = entry?.path();
                    if path.is_file() {
                        files.push(path);
                    }
                }
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(files)
}

fn parse(text: &str) -> Vec<Exclusion> {
    let mut inside = false;
    let mut list = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            inside = section.trim() == "exclusions";
        } else if inside
            && let Some((key, entry)) = line.split_once('=')
            && key.trim() == "exclusion"
        {
            list.push(entry_of(entry));
        }
    }
    list
}

fn entry_of(text: &str) -> Exclusion {
    let mut exclusion = Exclusion::default();
    for field in text
        .split(';')
        .map(str::trim)
        .filter(|field| !field.is_empty())
    {
        let (key, value) = field.split_once('=').unwrap_or((field, ""));
        let value = Some(value.trim().to_owned()).filter(|value| !value.is_empty());
        exclusion.has_unknown_key |= value.is_none();
        let slot = match key.trim().replace('_', "-").as_str() {
            "transport" => &mut exclusion.transport,
            "traddr" => &mut exclusion.traddr,
            "trsvcid" => &mut exclusion.trsvcid,
            "nqn" => &mut exclusion.nqn,
            "host-traddr" => &mut exclusion.host_traddr,
            "host-iface" => &mut exclusion.host_iface,
            "hostnqn" => &mut exclusion.hostnqn,
            "hostid" => &mut exclusion.hostid,
            _ => {
                exclusion.has_unknown_key = true;
                continue;
            }
        };
        *slot = value;
    }
    exclusion
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{Attr, Controller, ControllerName, Nqn, Transport};

    fn controller() -> Controller {
        Controller {
            transport: Attr::Value(Transport::Tcp),
            endpoint: Attr::Value("tcp://[2001:db8::1]:4420".parse().unwrap()),
            subsysnqn: Attr::Value(Nqn::new("nqn.x:a")),
            ..Controller::unknown(ControllerName::from_instance(1))
        }
    }

    #[test]
    fn only_what_is_given_is_compared() {
        let list = parse("[exclusions]\nexclusion = transport=tcp;traddr=2001:DB8:0::1\n");
        assert!(list[0].matches(&controller()));
        let list = parse("[exclusions]\nexclusion = nqn=nqn.x:b;traddr=2001:db8::1\n");
        assert!(!list[0].matches(&controller()));
        assert!(parse("exclusion = nqn=nqn.x:a\n").is_empty());
    }

    #[test]
    fn an_unknown_key_makes_an_entry_match_nothing() {
        for entry in ["nqn=nqn.x:a;color=red", "nqn=", "nqn", ""] {
            let list = parse(&format!("[exclusions]\nexclusion = {entry}\n"));
            assert!(!list[0].matches(&controller()), "{entry}");
        }
    }

    #[test]
    fn no_list_excludes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path()), Fact::Known(Vec::new()));
    }
}
