//! The order of the modules, held by reading their sources: see ARCHITECTURE.md, "Code map".

#![allow(clippy::unwrap_used, reason = "in a test a failure is the report")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// From the ground up: a module uses those before it, never one after it.
const ORDER: &[&str] = &[
    "fabric",
    "event",
    "watch",
    "diagnose",
    "repair",
    "migrate",
    "config",
    "host",
    "probe",
    "store",
    "control_plane",
    "serve",
    "engine",
    "cli",
];

/// The core: data in, data out.
const PURE: &[&str] = &["fabric", "event", "watch", "diagnose", "repair", "migrate"];

/// What a pure module has no business with: files, processes, clocks, tasks.
const IMPURE: &[&str] = &[
    "std::fs",
    "TcpStream",
    "UdpSocket",
    "std::process",
    "std::thread",
    "Instant",
    "SystemTime",
    "tokio",
    "rustix",
    "tracing",
    "async fn",
];

struct Source {
    path: PathBuf,
    /// The first folder or file below src/.
    module: String,
    /// Without comments, and without its tests.
    code: String,
    text: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources.push(source(&root, path));
            }
        }
    }
    assert!(sources.len() > 20, "the sources were not found");
    sources
}

fn source(root: &Path, path: PathBuf) -> Source {
    let below = path.strip_prefix(root).unwrap();
    let first = Path::new(below.components().next().unwrap().as_os_str());
    let module = first.file_stem().unwrap().to_string_lossy().into_owned();
    let text = fs::read_to_string(&path).unwrap();
    let code = if is_tests(&path) {
        String::new()
    } else {
        code_of(&text)
    };
    Source {
        module,
        code,
        text,
        path,
    }
}

fn is_tests(path: &Path) -> bool {
    path.components().any(|part| {
        Path::new(part.as_os_str())
            .file_stem()
            .is_some_and(|it| it == "tests")
    })
}

fn code_of(text: &str) -> String {
    let product = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = product
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// Modules of this crate that a text names: `crate::m` and each of `crate::{a, b::c}`.
fn named_modules(code: &str) -> Vec<String> {
    let identifier = |text: &str| -> String {
        text.chars()
            .take_while(|it| it.is_alphanumeric() || *it == '_')
            .collect()
    };
    let mut named = Vec::new();
    for after in code.split("crate::").skip(1) {
        let Some(list) = after.strip_prefix('{') else {
            named.push(identifier(after));
            continue;
        };
        let (mut depth, mut item) = (0, String::new());
        for character in list.chars() {
            match character {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    named.push(identifier(std::mem::take(&mut item).trim()));
                    continue;
                }
                _ => {}
            }
            item.push(character);
        }
        named.push(identifier(item.trim()));
    }
    named.retain(|name| !name.is_empty());
    named
}

fn rank(module: &str) -> Option<usize> {
    ORDER.iter().position(|it| *it == module)
}

#[test]
fn no_module_uses_one_above_it() {
    let mut wrong = Vec::new();
    for source in sources() {
        let Some(own) = rank(&source.module) else {
            let known = ["lib", "main"].contains(&source.module.as_str());
            assert!(
                known,
                "{}: its module has no place in ORDER",
                source.path.display()
            );
            continue;
        };
        for named in named_modules(&source.code) {
            if rank(&named).is_some_and(|other| other > own) {
                wrong.push(format!(
                    "{}: {} uses {named}",
                    source.path.display(),
                    source.module
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_core_has_no_input_no_output_and_no_clock() {
    let mut wrong = Vec::new();
    for source in sources()
        .iter()
        .filter(|source| PURE.contains(&source.module.as_str()))
    {
        for word in IMPURE.iter().filter(|word| source.code.contains(**word)) {
            wrong.push(format!("{}: {word}", source.path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_module_says_what_it_owns() {
    for source in sources() {
        let headed = source.text.starts_with("//!") || is_tests(&source.path);
        assert!(headed, "{} has no //! header", source.path.display());
    }
}

#[test]
fn lists_of_modules_are_read_whole() {
    let code = "use crate::{event::{A, B}, fabric::C};\nfn f() { crate::probe::attach() }";
    assert_eq!(named_modules(code), ["event", "fabric", "probe"]);
}
