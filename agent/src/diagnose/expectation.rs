//! What is expected of a host: what a control plane published, what a profile says about a family of subsystems, what
//! was asked. Each of it may be missing, and what is missing is unknown, not empty.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Finding;
use crate::fabric::{Endpoint, Namespace, Nqn, Nsid, UnixNs, Uuid};

/// All that is expected.
#[derive(Debug, Clone)]
pub struct Expectation {
    /// What a control plane wants.
    pub desired: Option<Desired>,
    /// Families of subsystems; the first that matches holds.
    pub profiles: Vec<Profile>,
    /// What the caller asks about.
    pub question: Option<Question>,
    /// Wall time now, against which the age of `desired` is taken.
    pub now: UnixNs,
}

/// What a control plane wants, as a document of some age.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Desired {
    /// When it was asked.
    pub fetched_at: UnixNs,
    /// How old it may be.
    pub max_age: Duration,
    /// By subsystem. One that is not named is unknown.
    pub subsystems: BTreeMap<Nqn, DesiredSubsystem>,
}

/// What a control plane wants of one subsystem.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DesiredSubsystem {
    /// The endpoints it serves from. Empty means that nobody knows.
    pub published: Vec<Endpoint>,
    /// The endpoints it no longer serves from.
    pub superseded: Vec<Endpoint>,
    /// Its namespaces, if the document lists them.
    pub namespaces: Option<Vec<DesiredNamespace>>,
}

/// A namespace that a control plane lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredNamespace {
    /// Which one.
    pub id: NamespaceId,
    /// Where it is served; everywhere that is published, when the document does not say.
    pub on: Option<Vec<Endpoint>>,
}

/// How a caller names a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NamespaceId {
    /// By UUID.
    Uuid(Uuid),
    /// By number.
    Nsid(Nsid),
}

/// What is expected of a family of subsystems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Which NQNs, with `*` for any text.
    pub pattern: String,
    /// Every controller of a subsystem serves all of its namespaces.
    pub every_controller_serves: bool,
    /// The longest `ctrl_loss_tmo` that a migration's path may have.
    pub max_ctrl_loss: Duration,
}

/// What the caller asks about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The subsystem.
    pub nqn: Nqn,
    /// The namespace.
    pub namespace: Option<NamespaceId>,
    /// Whether every controller of it is expected to serve: so for a request that would act on it, not for one that
    /// only looks.
    pub expects_service: bool,
}

/// What is known of a subsystem's published endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published<'a> {
    /// They are known, and the document is fresh.
    Known(&'a DesiredSubsystem),
    /// They were known.
    Stale(&'a DesiredSubsystem),
    /// Nobody says.
    Unknown,
}

/// Wall clocks of two machines are not the same; a document from further in the future than this is not believed.
const CLOCK_SKEW: Duration = Duration::from_secs(60);

impl Desired {
    /// Whether the document is fresh.
    #[must_use]
    pub fn is_fresh(&self, now: UnixNs) -> bool {
        match now.age_of(self.fetched_at) {
            Some(age) => age <= self.max_age,
            None => self
                .fetched_at
                .age_of(now)
                .is_some_and(|ahead| ahead <= CLOCK_SKEW),
        }
    }
}

impl Expectation {
    /// Nothing is expected.
    #[must_use]
    pub fn none(now: UnixNs) -> Self {
        Self {
            desired: None,
            profiles: Vec::new(),
            question: None,
            now,
        }
    }

    /// What is known of a subsystem's published endpoints. An empty list is unknown: a control plane that lost its
    /// state would publish exactly that.
    #[must_use]
    pub fn published(&self, nqn: &Nqn) -> Published<'_> {
        let Some(desired) = &self.desired else {
            return Published::Unknown;
        };
        match desired.subsystems.get(nqn) {
            Some(subsystem) if subsystem.published.is_empty() => Published::Unknown,
            Some(subsystem) if desired.is_fresh(self.now) => Published::Known(subsystem),
            Some(subsystem) => Published::Stale(subsystem),
            None => Published::Unknown,
        }
    }

    /// Whether an endpoint was declared superseded, whatever the age of the declaration: an endpoint that was given up
    /// does not come back by itself, and acting on an old document is refused elsewhere.
    #[must_use]
    pub fn is_superseded(&self, nqn: &Nqn, endpoint: &Endpoint) -> bool {
        self.desired
            .as_ref()
            .and_then(|desired| desired.subsystems.get(nqn))
            .is_some_and(|subsystem| subsystem.superseded.iter().any(|e| e.covers(endpoint)))
    }

    /// The profile of a subsystem.
    #[must_use]
    pub fn profile(&self, nqn: &Nqn) -> Option<&Profile> {
        self.profiles
            .iter()
            .find(|profile| matches_pattern(&profile.pattern, nqn.as_str()))
    }

    /// The namespace asked about, if it is one of this subsystem.
    #[must_use]
    pub fn namespace_asked(&self, nqn: &Nqn) -> Option<NamespaceId> {
        self.question
            .as_ref()
            .filter(|question| question.nqn == *nqn)?
            .namespace
    }
}

impl DesiredSubsystem {
    /// Whether an endpoint is published.
    #[must_use]
    pub fn publishes(&self, endpoint: &Endpoint) -> bool {
        self.published
            .iter()
            .any(|published| published.covers(endpoint))
    }

    /// Whether a namespace is expected at an endpoint.
    #[must_use]
    pub fn expects(&self, namespace: &Namespace, endpoint: &Endpoint) -> bool {
        let Some(listed) = &self.namespaces else {
            return self.publishes(endpoint);
        };
        listed.iter().any(|desired| {
            desired.id.names(namespace)
                && match &desired.on {
                    Some(on) => on.iter().any(|e| e.covers(endpoint)),
                    None => self.publishes(endpoint),
                }
        })
    }
}

impl NamespaceId {
    /// Whether this names the namespace.
    #[must_use]
    pub fn names(self, namespace: &Namespace) -> bool {
        match self {
            Self::Uuid(uuid) => namespace.uuid == Some(uuid),
            Self::Nsid(nsid) => namespace.nsid == Some(nsid),
        }
    }
}

impl std::fmt::Display for NamespaceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Uuid(uuid) => write!(f, "{uuid}"),
            Self::Nsid(nsid) => write!(f, "{nsid}"),
        }
    }
}

impl std::str::FromStr for NamespaceId {
    type Err = NamespaceIdParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(nsid) = text.parse() {
            return Ok(Self::Nsid(Nsid(nsid)));
        }
        text.parse()
            .map(Self::Uuid)
            .map_err(|_| NamespaceIdParseError)
    }
}

/// The text is neither a namespace's UUID nor its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("neither a namespace's UUID nor its number")]
pub struct NamespaceIdParseError;

impl Question {
    /// Whether a finding answers it. The rules themselves look at no other namespace than the one asked about.
    #[must_use]
    pub fn is_about(&self, finding: &Finding) -> bool {
        finding.identity.subsysnqn.as_ref() == Some(&self.nqn)
    }
}

/// Whether a text is of a pattern in which `*` stands for any text.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(head) else {
        return false;
    };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return text.ends_with(part);
        }
        match text.find(part) {
            Some(at) => text = text.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    text.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000_000;

    fn desired(published: &[&str]) -> Expectation {
        let subsystem = DesiredSubsystem {
            published: published.iter().map(|text| text.parse().unwrap()).collect(),
            ..DesiredSubsystem::default()
        };
        Expectation {
            desired: Some(Desired {
                fetched_at: UnixNs(10 * HOUR),
                max_age: Duration::from_secs(600),
                subsystems: [(Nqn::new("a"), subsystem)].into(),
            }),
            ..Expectation::none(UnixNs(10 * HOUR))
        }
    }

    #[test]
    fn an_empty_published_set_is_unknown() {
        assert_eq!(desired(&[]).published(&Nqn::new("a")), Published::Unknown);
    }

    #[test]
    fn a_subsystem_that_is_not_named_is_unknown() {
        let expectation = desired(&["tcp://10.0.0.1:4420"]);
        assert!(matches!(
            expectation.published(&Nqn::new("a")),
            Published::Known(_)
        ));
        assert_eq!(expectation.published(&Nqn::new("b")), Published::Unknown);
    }

    #[test]
    fn a_document_grows_stale_and_one_from_the_future_is_not_believed() {
        let mut expectation = desired(&["tcp://10.0.0.1:4420"]);
        let fresh = |e: &Expectation| matches!(e.published(&Nqn::new("a")), Published::Known(_));
        expectation.now = UnixNs(10 * HOUR + 600_000_000_000);
        assert!(fresh(&expectation));
        expectation.now = UnixNs(10 * HOUR + 600_000_000_001);
        assert!(!fresh(&expectation));
        expectation.now = UnixNs(10 * HOUR - 59_000_000_000);
        assert!(fresh(&expectation));
        expectation.now = UnixNs(9 * HOUR);
        assert!(!fresh(&expectation));
    }

    #[test]
    fn a_star_stands_for_any_text() {
        assert!(matches_pattern(
            "nqn.2023-02.io.simplyblock:*",
            "nqn.2023-02.io.simplyblock:x:y"
        ));
        assert!(!matches_pattern(
            "nqn.2023-02.io.simplyblock:*",
            "nqn.2023-02.io.other:x"
        ));
        assert!(
            matches_pattern("*:lvol:*", "a:lvol:b") && !matches_pattern("*:lvol:*", "a:pool:b")
        );
        assert!(matches_pattern("a*a", "aa") && !matches_pattern("a*a", "a"));
        assert!(matches_pattern("exact", "exact") && !matches_pattern("exact", "exactly"));
    }
}
