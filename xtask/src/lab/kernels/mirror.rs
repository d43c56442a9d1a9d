//! Where Debian's archive is: the place this host gets it from, so that a company's mirror serves the lab too.

use std::process::Command;

use anyhow::{Context as _, Result};

use crate::command;

/// Base addresses of the archive and of its security updates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mirror {
    pub(super) archive: String,
    pub(super) security: String,
}

impl Mirror {
    /// From the host's apt sources.
    pub(super) fn of_host() -> Result<Self> {
        let doing = "asking apt for the host's sources";
        let format = "$(REPO_URI) $(RELEASE) $(COMPONENT)";
        // Only sources that apt has an index of are listed, unless told not to look at their release files.
        let mut all = Command::new("apt-get");
        all.args([
            "indextargets",
            "--no-release-info",
            "--format",
            format,
            "Created-By: Packages",
        ]);
        let all = command::capture(&mut all, doing)?;
        Self::among(&all)
            .context("apt's sources of this host name no Debian archive with its security updates")
    }

    fn among(targets: &str) -> Option<Self> {
        let mut rows = targets.lines().filter_map(|line| {
            let mut words = line.split_whitespace();
            let row = (words.next()?, words.next()?);
            (words.next()? == "main").then_some(row)
        });
        // Others name their suites after Debian's too; what is no mirror of Debian's would also fail the signature check.
        let is = |uri: &str, name: &str| uri.trim_end_matches('/').rsplit('/').next() == Some(name);
        let archive = rows
            .clone()
            .find(|(uri, release)| is(uri, "debian") && !release.contains('-'))?
            .0;
        let security = rows
            .find(|(uri, release)| is(uri, "debian-security") && release.ends_with("-security"));
        // The two stand side by side on a mirror that has both.
        let security = security.map_or_else(|| beside(archive), |(uri, _)| uri.to_owned());
        Some(Self {
            archive: archive.to_owned(),
            security,
        })
    }
}

fn beside(archive: &str) -> String {
    format!("{}-security", archive.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_the_one_the_host_uses() {
        let targets = "\
https://deb.example.org/node_20.x/ nodistro main
https://deb.example.org/tool/ bookworm main
http://mirror.example.org/debian/ bookworm-updates main
http://mirror.example.org/debian/ bookworm main
http://security.example.org/debian-security/ bookworm-security main
";

        let mirror = Mirror::among(targets).unwrap();

        assert_eq!(mirror.archive, "http://mirror.example.org/debian/");
        assert_eq!(
            mirror.security,
            "http://security.example.org/debian-security/"
        );
    }

    #[test]
    fn security_updates_are_looked_for_beside_the_archive() {
        let mirror = Mirror::among("http://mirror.example.org/debian/ sid main\n").unwrap();

        assert_eq!(mirror.security, "http://mirror.example.org/debian-security");
    }

    #[test]
    fn a_host_without_a_debian_archive_has_no_mirror() {
        assert_eq!(
            Mirror::among("http://archive.example.org/ubuntu/ noble main\n"),
            None
        );
    }
}
