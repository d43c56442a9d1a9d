//! The shared libraries a program needs, as this machine's dynamic loader finds them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::command;

/// A library, or the loader itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Library {
    /// Where it is on this machine.
    pub(super) file: PathBuf,
    /// Where the guest's loader looks for it.
    pub(super) place: String,
}

/// All that the program needs, directly or not; none for a static one. `beside` is searched before the system's folders.
pub(super) fn of_program(program: &Path, beside: &[PathBuf]) -> Result<BTreeSet<Library>> {
    let mut ldd = Command::new("ldd");
    ldd.env("LC_ALL", "C.UTF-8").arg(program);
    match std::env::join_paths(beside) {
        Ok(folders) if !beside.is_empty() => ldd.env("LD_LIBRARY_PATH", folders),
        // What `cargo xtask` leaves there is for its own programs.
        _ => ldd.env_remove("LD_LIBRARY_PATH"),
    };
    let doing = format!("asking which libraries {} needs", program.display());
    let output = command::output(&mut ldd, &doing)?;
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("not a dynamic executable") {
        return Ok(BTreeSet::new());
    }
    if !output.status.success() {
        bail!("{doing}: ldd ended with {}: {}", output.status, said.trim());
    }
    parse(&String::from_utf8_lossy(&output.stdout)).map_err(|error| error.context(doing))
}

fn parse(ldd: &str) -> Result<BTreeSet<Library>> {
    let mut libraries = BTreeSet::new();
    for line in ldd.lines().map(str::trim) {
        if line == "statically linked" || line.starts_with("linux-vdso") {
            continue;
        }
        // "NAME => FILE (0x…)", or "FILE (0x…)" for the loader.
        let named = line.split_once(" => ");
        let file = named.map_or(line, |(_, file)| file);
        if file == "not found" {
            bail!("{} is not installed", named.map_or(line, |(name, _)| name));
        }
        let file = file.rsplit_once(" (0x").map_or(file, |(file, _)| file);
        let place = match named {
            Some((name, _)) => format!("lib/{}", name.rsplit('/').next().unwrap_or(name)),
            // The kernel finds the loader by the path that stands in the program.
            None => file.trim_start_matches('/').to_owned(),
        };
        libraries.insert(Library {
            file: PathBuf::from(file),
            place,
        });
    }
    Ok(libraries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_go_to_one_folder_and_the_loader_keeps_its_place() {
        let ldd = "\tlinux-vdso.so.1 (0x00007ffc6d9f2000)\n\
                   \tlibgcc_s.so.1 => /lib/x86_64-linux-gnu/libgcc_s.so.1 (0x00007f22d9292000)\n\
                   \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f22cfe1e000)\n\
                   \t/lib64/ld-linux-x86-64.so.2 (0x00007f22d92c5000)\n";

        let places: Vec<_> = parse(ldd)
            .unwrap()
            .into_iter()
            .map(|library| library.place)
            .collect();

        assert_eq!(
            places,
            [
                "lib/libc.so.6",
                "lib/libgcc_s.so.1",
                "lib64/ld-linux-x86-64.so.2"
            ]
        );
    }

    #[test]
    fn a_library_that_is_not_installed_is_named() {
        let error = parse("\tlibnvme.so.1 => not found\n").unwrap_err();

        assert_eq!(error.to_string(), "libnvme.so.1 is not installed");
    }

    #[test]
    fn a_static_program_needs_nothing() {
        assert!(parse("\tstatically linked\n").unwrap().is_empty());
    }

    #[test]
    fn a_real_program_needs_the_c_library() {
        let ls = Path::new("/bin/ls");

        let libraries = of_program(ls, &[]).unwrap();

        assert!(
            libraries
                .iter()
                .any(|library| library.place == "lib/libc.so.6"),
            "{libraries:?}"
        );
    }
}
