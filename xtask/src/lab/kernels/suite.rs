//! Which kernels there are to choose from: Debian's suites, because versions move and suites stay.

use std::fmt;

/// A Debian suite, by the role it plays for the lab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suite {
    /// Debian 12; kernel 6.1.
    Bookworm,
    /// Debian 13; kernel 6.12.
    Trixie,
    /// The suite that has the newest kernel; 7.2 when this was written.
    Newest,
}

impl Suite {
    /// Oldest first.
    pub(crate) const ALL: [Self; 3] = [Self::Bookworm, Self::Trixie, Self::Newest];

    /// What the user calls it beside its kernel's version.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Bookworm => "bookworm",
            Self::Trixie => "trixie",
            Self::Newest => "newest",
        }
    }

    /// Its name in Debian's archive.
    pub(super) fn codename(self) -> &'static str {
        match self {
            Self::Bookworm => "bookworm",
            Self::Trixie => "trixie",
            Self::Newest => "sid",
        }
    }

    /// Its name in Debian's archive of security updates; the newest suite gets them directly.
    pub(super) fn security(self) -> Option<String> {
        (self != Self::Newest).then(|| format!("{}-security", self.codename()))
    }

    /// The kernel series it is known to have; what the newest suite has is only known by looking.
    fn series(self) -> &'static str {
        match self {
            Self::Bookworm => "6.1",
            Self::Trixie => "6.12",
            Self::Newest => "7.2",
        }
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What `--kernel` asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selection {
    /// The suites, in the order they are run.
    pub(crate) suites: Vec<Suite>,
}

impl Selection {
    /// Every suite.
    pub(crate) fn all() -> Self {
        Self {
            suites: Suite::ALL.to_vec(),
        }
    }
}

impl std::str::FromStr for Selection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "all" {
            return Ok(Self::all());
        }
        let known = Suite::ALL
            .into_iter()
            .find(|suite| [suite.word(), suite.series()].contains(&text));
        // The newest suite moves on: a number above those that stay means it, and the real version is printed.
        let suite = known.or_else(|| newer_than_known(text).then_some(Suite::Newest));
        let suite = suite.ok_or_else(|| {
            let names = Suite::ALL.map(|suite| format!("{} ({suite})", suite.series()));
            format!("no such kernel; there are {} and all", names.join(", "))
        })?;
        Ok(Self {
            suites: vec![suite],
        })
    }
}

fn newer_than_known(text: &str) -> bool {
    let mut numbers = text.split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor)), None) => (major, minor) > (7, 2),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_asked_for_by_version_or_by_suite() {
        let asked = |text: &str| text.parse::<Selection>().map(|selection| selection.suites);

        assert_eq!(asked("6.1"), Ok(vec![Suite::Bookworm]));
        assert_eq!(asked("trixie"), Ok(vec![Suite::Trixie]));
        assert_eq!(asked("7.2"), Ok(vec![Suite::Newest]));
        assert_eq!(asked("newest"), Ok(vec![Suite::Newest]));
        assert_eq!(asked("all"), Ok(Suite::ALL.to_vec()));
    }

    #[test]
    fn a_later_version_means_the_newest_suite() {
        assert_eq!(
            "7.10".parse(),
            Ok(Selection {
                suites: vec![Suite::Newest]
            })
        );
    }

    #[test]
    fn an_unknown_kernel_is_refused_with_those_there_are() {
        for text in ["5.10", "6.13", "7", "7.2.13", "fast"] {
            let error = text.parse::<Selection>().unwrap_err();
            assert_eq!(
                error,
                "no such kernel; there are 6.1 (bookworm), 6.12 (trixie), 7.2 (newest) and all"
            );
        }
    }
}
