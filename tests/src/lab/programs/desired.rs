//! A desired state for `--desired`: what a control plane would publish of one subsystem.

use std::path::PathBuf;

use anyhow::Result;

use crate::lab::attribute;
use crate::lab::host::Endpoint;

/// Where the document is written; scenarios run one after the other.
const FILE: &str = "/tmp/desired.toml";

/// One subsystem's endpoints.
#[derive(Debug, Clone)]
pub struct Desired {
    nqn: String,
    published: Vec<String>,
    superseded: Vec<String>,
}

impl Desired {
    /// Nothing of this subsystem yet.
    pub fn of(nqn: &str) -> Self {
        Self {
            nqn: nqn.to_owned(),
            published: Vec::new(),
            superseded: Vec::new(),
        }
    }

    /// It serves from here.
    pub fn published(mut self, endpoint: impl Into<Endpoint>) -> Self {
        self.published.push(text(&endpoint.into()));
        self
    }

    /// It no longer serves from here.
    pub fn superseded(mut self, endpoint: impl Into<Endpoint>) -> Self {
        self.superseded.push(text(&endpoint.into()));
        self
    }

    /// Writes it as fetched this moment.
    pub fn write(&self) -> Result<PathBuf> {
        let file = PathBuf::from(FILE);
        attribute::write(&file, &self.toml(jiff::Timestamp::now()))?;
        Ok(file)
    }

    fn toml(&self, fetched_at: jiff::Timestamp) -> String {
        // Neither NQNs nor endpoints of the lab have a character that TOML escapes otherwise than Rust.
        format!(
            "fetched_at = \"{fetched_at}\"\n\n[[subsystem]]\nnqn = {:?}\npublished = {:?}\nsuperseded = {:?}\n",
            self.nqn, self.published, self.superseded
        )
    }
}

/// As the agent writes and reads an endpoint.
fn text(endpoint: &Endpoint) -> String {
    format!("tcp://{}:{}", endpoint.traddr, endpoint.trsvcid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn the_document_lists_what_was_said() {
        let endpoint = |last| Endpoint {
            nqn: "nqn.a".to_owned(),
            traddr: Ipv4Addr::new(127, 0, 0, last),
            trsvcid: 4420,
        };
        let desired = Desired::of("nqn.a")
            .published(endpoint(2))
            .superseded(endpoint(3));
        assert_eq!(
            desired.toml(jiff::Timestamp::UNIX_EPOCH),
            "fetched_at = \"1970-01-01T00:00:00Z\"\n\n[[subsystem]]\nnqn = \"nqn.a\"\n\
             published = [\"tcp://127.0.0.2:4420\"]\nsuperseded = [\"tcp://127.0.0.3:4420\"]\n"
        );
    }
}
