//! The desired state: a document of endpoints that are published and superseded.
//!
//! Unknown keys are errors here too: a misspelt `published` would read as empty.

use std::fs;
use std::path::Path;

use super::document::{DocumentError, Field, Source, Table};
use super::{ConfigError, DesiredBounds};
use crate::diagnose::{Desired, DesiredNamespace, DesiredSubsystem, NamespaceId};
use crate::fabric::{Endpoint, Nqn, Nsid, UnixNs};

/// Reads a desired state from a file.
///
/// # Errors
/// When it cannot be read, or anything in it is not right.
pub fn load_desired(path: &Path, bounds: DesiredBounds) -> Result<Desired, ConfigError> {
    let text = fs::read_to_string(path).map_err(|source| ConfigError::Read {
        path: path.to_owned(),
        source,
    })?;
    Ok(parse_desired(&path.display().to_string(), &text, bounds)?)
}

/// Reads a desired state from a text. `file` names it in errors.
///
/// # Errors
/// When anything in it is not right.
pub fn parse_desired(
    file: &str,
    text: &str,
    bounds: DesiredBounds,
) -> Result<Desired, DocumentError> {
    let source = Source { file, text };
    let document = source.parse()?;
    let top = Table::top(source, &document, &["fetched_at", "max_age", "subsystem"])?;
    let mut desired = Desired {
        fetched_at: instant(&top.require("fetched_at")?)?,
        max_age: top
            .get("max_age")
            .map_or(Ok(bounds.max_age), |field| field.length())?,
        subsystems: std::collections::BTreeMap::new(),
    };
    let subsystems = top
        .get("subsystem")
        .map_or(Ok(Vec::new()), |field| field.list())?;
    for field in subsystems {
        let (nqn, subsystem) = subsystem(&field)?;
        if desired.subsystems.insert(nqn, subsystem).is_some() {
            return Err(field.error("this NQN is listed twice".to_owned()));
        }
    }
    Ok(desired)
}

fn instant(field: &Field<'_>) -> Result<UnixNs, DocumentError> {
    let text = field.string()?;
    let instant: jiff::Timestamp = text.parse().map_err(|_| {
        field.error(format!(
            "expected a time such as \"2026-01-31T12:00:00Z\", found \"{text}\""
        ))
    })?;
    i64::try_from(instant.as_nanosecond())
        .map(UnixNs)
        .map_err(|_| field.error("too far from 1970".to_owned()))
}

fn subsystem(field: &Field<'_>) -> Result<(Nqn, DesiredSubsystem), DocumentError> {
    let table = field.table(&["namespaces", "nqn", "published", "superseded"])?;
    let nqn = table.require("nqn")?;
    let text = nqn.string()?;
    if text.is_empty() {
        return Err(nqn.error("empty".to_owned()));
    }
    let list = |key| {
        table
            .get(key)
            .map_or(Ok(Vec::new()), |field| endpoints(&field))
    };
    let subsystem = DesiredSubsystem {
        published: list("published")?,
        superseded: list("superseded")?,
        namespaces: match table.get("namespaces") {
            None => None,
            Some(field) => Some(
                field
                    .list()?
                    .iter()
                    .map(namespace)
                    .collect::<Result<Vec<_>, _>>()?,
            ),
        },
    };
    let both = subsystem.superseded.iter().find(|superseded| {
        subsystem
            .published
            .iter()
            .any(|e| e.covers(superseded) || superseded.covers(e))
    });
    match both {
        Some(endpoint) => Err(field.error(format!("{endpoint} is both published and superseded"))),
        None => Ok((Nqn::new(text), subsystem)),
    }
}

fn endpoints(field: &Field<'_>) -> Result<Vec<Endpoint>, DocumentError> {
    field.list()?.iter().map(endpoint).collect()
}

fn endpoint(field: &Field<'_>) -> Result<Endpoint, DocumentError> {
    let endpoint: Endpoint = field.parsed("an endpoint such as \"tcp://10.0.0.1:4420\"")?;
    // Without a port it would match no controller, and everything would look unpublished.
    if endpoint.transport.is_ip() && endpoint.port().is_none() {
        return Err(field.error(format!("{endpoint} has no port")));
    }
    if !endpoint.transport.is_fabric() {
        return Err(field.error(format!("{} is no fabric", endpoint.transport)));
    }
    Ok(endpoint)
}

fn namespace(field: &Field<'_>) -> Result<DesiredNamespace, DocumentError> {
    let table = field.table(&["nsid", "on", "uuid"])?;
    let id = match (table.get("uuid"), table.get("nsid")) {
        (Some(uuid), None) => NamespaceId::Uuid(uuid.parsed("a UUID")?),
        (None, Some(nsid)) => NamespaceId::Nsid(Nsid(nsid.number()?)),
        _ => return Err(field.error("expected either uuid or nsid".to_owned())),
    };
    let on = table.get("on").map(|field| endpoints(&field)).transpose()?;
    Ok(DesiredNamespace { id, on })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const BOUNDS: DesiredBounds = DesiredBounds {
        max_age: Duration::from_secs(600),
    };

    fn error(text: &str) -> String {
        parse_desired("desired.toml", text, BOUNDS)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_whole_document_is_read() {
        let text = r#"
            fetched_at = "2026-01-31T12:00:00Z"
            max_age = "5m"
            [[subsystem]]
            nqn = "nqn.x:a"
            published = ["tcp://10.0.0.1:4426", "tcp://[2001:db8::1]:4428"]
            superseded = ["tcp://10.0.0.3:4428"]
            namespaces = [{ nsid = 1 }, { uuid = "00000001-0000-4000-8000-000000000001", on = ["tcp://10.0.0.1:4426"] }]
        "#;
        let desired = parse_desired("desired.toml", text, BOUNDS).unwrap();
        assert_eq!(desired.max_age, Duration::from_secs(300));
        assert_eq!(desired.fetched_at.millis(), 1_769_860_800_000);
        let subsystem = &desired.subsystems["nqn.x:a"];
        assert_eq!(
            (subsystem.published.len(), subsystem.superseded.len()),
            (2, 1)
        );
        let namespaces = subsystem.namespaces.as_ref().unwrap();
        assert_eq!(namespaces[0].id, NamespaceId::Nsid(Nsid(1)));
        assert_eq!(namespaces[1].on.as_ref().unwrap().len(), 1);
    }

    #[test]
    fn a_wrong_type_names_file_line_and_field() {
        let head = "fetched_at = \"2026-01-31T12:00:00Z\"\n[[subsystem]]\nnqn = \"nqn.x:a\"\n";
        assert_eq!(
            error(&format!("{head}published = \"tcp://10.0.0.1:4426\"\n")),
            "desired.toml:4: subsystem[0].published: expected a list, found \"tcp://10.0.0.1:4426\""
        );
        assert_eq!(
            error(&format!("{head}publised = []\n")),
            "desired.toml:4: subsystem[0].publised: unknown key; did you mean published?"
        );
        assert_eq!(
            error(&format!(
                "{head}published = [\n  \"tcp://10.0.0.1:4426\",\n  \"10.0.0.2:4426\",\n]\n"
            )),
            "desired.toml:6: subsystem[0].published[1]: expected an endpoint such as \"tcp://10.0.0.1:4420\": \
             no transport in front (expected tcp://ADDRESS:PORT)"
        );
        assert_eq!(
            error("fetched_at = \"yesterday\"\n"),
            "desired.toml:1: fetched_at: expected a time such as \"2026-01-31T12:00:00Z\", found \"yesterday\""
        );
        assert_eq!(error(""), "desired.toml:1: fetched_at: missing");
    }

    #[test]
    fn an_endpoint_cannot_be_both() {
        let text = "fetched_at = \"2026-01-31T12:00:00Z\"\n[[subsystem]]\nnqn = \"a\"\n\
                    published = [\"tcp://10.0.0.1:1\"]\nsuperseded = [\"tcp://[::ffff:10.0.0.1]:1\"]\n";
        assert!(
            error(text).ends_with("tcp://10.0.0.1:1 is both published and superseded"),
            "{}",
            error(text)
        );
    }

    #[test]
    fn an_endpoint_without_a_port_would_match_nothing() {
        let text = "fetched_at = \"2026-01-31T12:00:00Z\"\n[[subsystem]]\nnqn = \"a\"\n\
                    published = [\"tcp://10.0.0.1\"]\n";
        assert!(
            error(text).ends_with("tcp://10.0.0.1 has no port"),
            "{}",
            error(text)
        );
    }
}
