//! Which kernel of a suite to boot: the newest that its metapackage depends on, and those to fall back to.

use anyhow::{Context as _, Result};

use super::debversion;
use super::stanza::Stanza;

/// The package that always depends on the suite's current kernel.
pub(super) const METAPACKAGE: &str = "linux-image-amd64";

/// A kernel the suite has, with the packages that its image and modules are in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    /// As `uname -r` prints it.
    pub(super) release: String,
    /// Version of its packages.
    pub(super) version: String,
    /// Names of the packages to take apart.
    pub(super) packages: Vec<String>,
}

/// The suite's kernels of the metapackage's series, the one it depends on first, older ones after it.
///
/// `stanzas` is the metapackage and all `linux-image-*`, in all versions. A suite may also carry kernels of other series
/// (bookworm has 6.12 beside 6.1): those are not fallen back to.
pub(super) fn candidates(stanzas: &[Stanza]) -> Result<Vec<Candidate>> {
    let newest = stanzas
        .iter()
        .filter(|stanza| stanza.name() == METAPACKAGE)
        .max_by(|a, b| debversion::compare(a.version(), b.version()))
        .with_context(|| format!("the index has no package {METAPACKAGE}"))?;
    let wanted = newest.depends().find_map(release_of);
    let wanted = wanted
        .with_context(|| format!("{METAPACKAGE} {} depends on no kernel", newest.version()))?;
    let series = series(wanted);

    let mut found: Vec<(&str, &Stanza)> = stanzas
        .iter()
        .filter_map(|stanza| Some((release_of(stanza.name())?, stanza)))
        .filter(|(release, _)| self::series(release) == series)
        .filter(|(_, stanza)| debversion::compare(stanza.version(), newest.version()).is_le())
        .collect();
    found.sort_by(|(_, a), (_, b)| debversion::compare(b.version(), a.version()));
    found.dedup_by(|(a, _), (b, _)| a == b);
    Ok(found
        .into_iter()
        .map(|(release, stanza)| candidate(release, stanza))
        .collect())
}

fn candidate(release: &str, image: &Stanza) -> Candidate {
    // New suites split the image package: the kernel is in linux-binary-*, the modules in linux-modules-*, the list of what
    // is built in in linux-base-*, each with the release behind.
    let mut packages: Vec<String> = image
        .depends()
        .filter(|name| name.starts_with("linux-") && name.ends_with(release))
        .map(str::to_owned)
        .collect();
    if packages.is_empty() {
        packages.push(image.name().to_owned());
    }
    Candidate {
        release: release.to_owned(),
        version: image.version().to_owned(),
        packages,
    }
}

/// The kernel release an image package is for; none if it is a metapackage or another flavour (rt, cloud, unsigned, dbg).
fn release_of(package: &str) -> Option<&str> {
    let release = package.strip_prefix("linux-image-")?;
    let number = release.strip_suffix("-amd64")?;
    let flavour = ["-rt", "-cloud"]
        .iter()
        .any(|flavour| number.ends_with(flavour));
    // "6.12-amd64" is a metapackage of that series.
    let complete = number.split('.').count() > 2;
    (number.starts_with(|c: char| c.is_ascii_digit()) && complete && !flavour).then_some(release)
}

/// The first two numbers of a release: "6.1" of "6.1.0-57-amd64".
pub(crate) fn series(release: &str) -> String {
    release
        .split(['.', '-', '+', '~'])
        .take(2)
        .collect::<Vec<_>>()
        .join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(text: &str) -> Vec<Stanza> {
        let packages = text.lines().map(|line| {
            let (package, rest) = line.split_once(' ').unwrap();
            let (version, depends) = rest.split_once(' ').unwrap_or((rest, ""));
            format!("Package: {package}\nVersion: {version}\nDepends: {depends}\n")
        });
        Stanza::parse_all(&packages.collect::<Vec<_>>().join("\n"))
    }

    const BOOKWORM: &str = "\
linux-image-amd64 6.1.176-1 linux-image-6.1.0-50-amd64 (= 6.1.176-1)
linux-image-amd64 6.1.192-3 linux-image-6.1.0-57-amd64 (= 6.1.192-3)
linux-image-6.1.0-50-amd64 6.1.176-1 kmod
linux-image-6.1.0-56-amd64 6.1.190-1 kmod
linux-image-6.1.0-57-amd64 6.1.192-3 kmod
linux-image-6.1.0-57-amd64-unsigned 6.1.192-3 kmod
linux-image-6.1.0-57-cloud-amd64 6.1.192-3 kmod
linux-image-6.1.0-58-amd64 6.1.193-1 kmod
linux-image-6.12-amd64 6.12.117-1~deb12u1 linux-image-6.12.117+deb12-amd64
linux-image-6.12.117+deb12-amd64 6.12.117-1~deb12u1 kmod";

    #[test]
    fn the_newest_metapackage_decides_and_older_kernels_of_its_series_follow() {
        let found = candidates(&index(BOOKWORM)).unwrap();

        let releases: Vec<_> = found
            .iter()
            .map(|candidate| candidate.release.as_str())
            .collect();
        assert_eq!(
            releases,
            ["6.1.0-57-amd64", "6.1.0-56-amd64", "6.1.0-50-amd64"]
        );
        assert_eq!(found[0].version, "6.1.192-3");
        assert_eq!(found[0].packages, ["linux-image-6.1.0-57-amd64"]);
    }

    #[test]
    fn a_kernel_that_is_gone_from_the_index_leaves_the_next_newest() {
        let without: Vec<_> = BOOKWORM
            .lines()
            .filter(|line| !line.starts_with("linux-image-6.1.0-57-amd64 "))
            .collect();

        let found = candidates(&index(&without.join("\n"))).unwrap();

        assert_eq!(found[0].release, "6.1.0-56-amd64");
    }

    #[test]
    fn a_split_image_package_is_followed_to_where_kernel_and_modules_are() {
        let found = candidates(&index(
            "linux-image-amd64 7.2.13-1 linux-base-amd64, linux-image-7.2.13+deb14-amd64 (= 7.2.13-1)\n\
             linux-image-7.2.13+deb14-amd64 7.2.13-1 dracut | initramfs-tools, linux-base-7.2.13+deb14-amd64, \
             linux-binary-7.2.13+deb14-amd64 (= 7.2.13-1), linux-modules-7.2.13+deb14-amd64 (= 7.2.13-1)",
        ))
        .unwrap();

        assert_eq!(found[0].release, "7.2.13+deb14-amd64");
        assert_eq!(
            found[0].packages,
            [
                "linux-base-7.2.13+deb14-amd64",
                "linux-binary-7.2.13+deb14-amd64",
                "linux-modules-7.2.13+deb14-amd64"
            ]
        );
    }

    #[test]
    fn an_index_without_the_metapackage_is_refused() {
        let error = candidates(&[]).unwrap_err();

        assert_eq!(
            error.to_string(),
            "the index has no package linux-image-amd64"
        );
    }

    #[test]
    fn the_series_is_what_people_call_the_kernel() {
        for (release, expected) in [
            ("6.1.0-57-amd64", "6.1"),
            ("6.12.118+deb13-amd64", "6.12"),
            ("7.3~rc4-amd64", "7.3"),
        ] {
            assert_eq!(series(release), expected);
        }
    }
}
