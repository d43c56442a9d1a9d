//! Packages through apt: of the host's own suite, and of others without touching the host's sources.
//!
//! For another suite apt-get is given a sources file, list folder, package state and cache of its own; the host's
//! configuration (a proxy, for one) still holds. Packages are looked up and downloaded, never installed. Every index is
//! verified against Debian's archive keyring, and every package against the index and once more by us.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use super::debversion;
use super::mirror::Mirror;
use super::stanza::Stanza;
use super::suite::Suite;
use crate::cache::{self, Cache};
use crate::command;

/// Debian's own keys, from its package debian-archive-keyring.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// A view of apt's: which packages it sees.
#[derive(Debug)]
pub(crate) struct Apt {
    /// Read after the host's own configuration; none for the host's own view.
    configuration: Option<PathBuf>,
}

impl Apt {
    /// The host's own view.
    pub(crate) fn of_host() -> Self {
        Self {
            configuration: None,
        }
    }

    /// A view of that suite only, kept in the cache. Its index is as old as the last `refresh`.
    pub(super) fn of_suite(cache: &Cache, suite: Suite) -> Result<Self> {
        let folder = cache.path(&format!("apt/{}", suite.codename()));
        let sources = folder.join("sources.d");
        for dir in [
            &sources,
            &folder.join("lists/partial"),
            &folder.join("cache/archives/partial"),
        ] {
            fs::create_dir_all(dir).with_context(|| format!("creating {}", dir.display()))?;
        }
        let write = |path: PathBuf, text: String| {
            fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
        };
        write(
            sources.join("suite.sources"),
            source_file(&Mirror::of_host()?, suite),
        )?;
        // Nothing is installed as far as this view goes: what the host has must not decide what is newest.
        write(folder.join("status"), String::new())?;
        let configuration = folder.join("apt.conf");
        write(configuration.clone(), settings(&folder))?;
        Ok(Self {
            configuration: Some(configuration),
        })
    }

    /// Fetches the suite's index anew.
    pub(super) fn refresh(&self) -> Result<()> {
        let mut update = self.command("apt-get");
        update.args(["--quiet", "--quiet", "update"]);
        let refreshed = command::capture(&mut update, "refreshing the package index");
        match refreshed {
            Err(error) if error.to_string().contains("NO_PUBKEY") => Err(error.context(
                "the archive is signed with a key that this host's debian-archive-keyring does not have yet: upgrade \
                 that package",
            )),
            other => other.map(|_| ()),
        }
    }

    /// All versions of these packages, as far as the index has them.
    pub(super) fn show(&self, packages: &[String]) -> Result<Vec<Stanza>> {
        // Exits with 100 if it does not know one of the names, and prints the others all the same.
        let shown = command::output(
            self.command("apt-cache")
                .args(["show", "--all-versions"])
                .args(packages),
            "reading the package index",
        )?;
        Ok(Stanza::parse_all(&String::from_utf8_lossy(&shown.stdout)))
    }

    /// Names of the packages that begin with this.
    pub(super) fn names(&self, prefix: &str) -> Result<Vec<String>> {
        let mut apt_cache = self.command("apt-cache");
        let names = command::capture(
            apt_cache.args(["pkgnames", prefix]),
            "listing package names",
        )?;
        Ok(names.lines().map(str::to_owned).collect())
    }

    /// The newest version of each of these packages; all of them must be there. A name may be `NAME=VERSION`.
    pub(crate) fn newest(&self, packages: &[String]) -> Result<Vec<Stanza>> {
        let shown = self.show(packages)?;
        let newest = packages.iter().map(|package| {
            let (name, version) = package.split_once('=').unwrap_or((package, ""));
            let fitting = shown.iter().filter(|stanza| stanza.name() == name);
            let fitting =
                fitting.filter(|stanza| version.is_empty() || stanza.version() == version);
            let newest = fitting.max_by(|a, b| debversion::compare(a.version(), b.version()));
            newest
                .cloned()
                .with_context(|| format!("the index has no package {package}"))
        });
        newest.collect()
    }

    /// The package's archive in the cache; downloaded if it is not there.
    pub(crate) fn archive(&self, cache: &Cache, package: &Stanza) -> Result<PathBuf> {
        let (name, version) = (package.name(), package.version());
        let sha256 = package.sha256();
        ensure!(
            sha256.len() == 64,
            "the index has no checksum for {name} {version}"
        );
        let folder = cache.entry(
            &format!("debs/{name}_{version}_{}", &sha256[..12]),
            |part| {
                eprintln!("note: downloading {name} {version}");
                let doing = format!("downloading {name} {version}");
                let mut download = self.command("apt-get");
                download
                    .current_dir(part)
                    .args(["--quiet", "--quiet", "download"]);
                command::capture(download.arg(format!("{name}={version}")), &doing)?;
                let found = cache::of_file(&only_file(part)?)?;
                ensure!(
                    found == sha256,
                    "{doing}: the file's checksum is {found}, the index says {sha256}"
                );
                Ok(())
            },
        )?;
        only_file(&folder)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        // Messages are looked at.
        command.env("LC_ALL", "C.UTF-8");
        if let Some(configuration) = &self.configuration {
            command.arg("--config-file").arg(configuration);
        }
        command
    }
}

/// apt's configuration for a view whose files are all in that folder.
fn settings(folder: &Path) -> String {
    let path = |name: &str| folder.join(name).display().to_string();
    let none = || "/dev/null".to_owned();
    [
        ("Dir::Etc::sourcelist", none()),
        ("Dir::Etc::sourceparts", path("sources.d")),
        ("Dir::Etc::preferences", none()),
        ("Dir::Etc::preferencesparts", none()),
        ("Dir::State::Lists", path("lists")),
        ("Dir::State::status", path("status")),
        ("Dir::Cache", path("cache")),
        // As root, apt downloads as a user who cannot reach into a home folder.
        ("APT::Sandbox::User", "root".to_owned()),
        // Else a source that cannot be reached is only a warning.
        ("APT::Update::Error-Mode", "any".to_owned()),
        // Whatever the host allows.
        ("APT::Get::AllowUnauthenticated", "false".to_owned()),
        ("Acquire::AllowInsecureRepositories", "false".to_owned()),
    ]
    .map(|(name, value)| format!("{name} \"{value}\";\n"))
    .concat()
}

fn source_file(mirror: &Mirror, suite: Suite) -> String {
    let security = suite
        .security()
        .map(|name| (mirror.security.as_str(), name));
    let places =
        std::iter::once((mirror.archive.as_str(), suite.codename().to_owned())).chain(security);
    let sources = places.map(|(uri, name)| {
        format!(
            "Types: deb\nURIs: {uri}\nSuites: {name}\nComponents: main\nArchitectures: amd64\nTargets: Packages\n\
             Signed-By: {KEYRING}\n"
        )
    });
    sources.collect::<Vec<_>>().join("\n")
}

/// The one package archive in the folder.
fn only_file(folder: &Path) -> Result<PathBuf> {
    let listed = fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))?;
    let files = listed.filter_map(|entry| Some(entry.ok()?.path()));
    let mut archives =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "deb"));
    match (archives.next(), archives.next()) {
        (Some(archive), None) => Ok(archive),
        _ => bail!("{} does not hold exactly one package", folder.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stable_suite_has_its_security_updates_and_the_newest_has_none() {
        let mirror = Mirror {
            archive: "http://a/debian".to_owned(),
            security: "http://a/debian-security".to_owned(),
        };

        let bookworm = source_file(&mirror, Suite::Bookworm);
        assert!(
            bookworm.contains("URIs: http://a/debian\nSuites: bookworm\n"),
            "{bookworm}"
        );
        assert!(
            bookworm.contains("URIs: http://a/debian-security\nSuites: bookworm-security\n"),
            "{bookworm}"
        );

        let newest = source_file(&mirror, Suite::Newest);
        assert!(
            newest.contains("Suites: sid\n") && !newest.contains("security"),
            "{newest}"
        );
    }

    #[test]
    fn every_source_is_verified_with_debians_keyring() {
        let mirror = Mirror {
            archive: "http://a/debian".to_owned(),
            security: "http://b".to_owned(),
        };

        for suite in Suite::ALL {
            let text = source_file(&mirror, suite);
            assert_eq!(
                text.matches("URIs:").count(),
                text.matches(&format!("Signed-By: {KEYRING}")).count()
            );
        }
    }
}
