//! Whether the agent and nvme-cli say the same of every controller: name, subsystem, host, transport, state, address.
//!
//! Two looks are never at the same moment. The agent looks before nvme-cli and after it; only a host that looked the same
//! both times is compared.
//!
//! nvme-cli lists the controllers of a subsystem by the paths to its first namespace, and all of them only where there is
//! no such path (`json_print_nvme_subsystem_multipath`, 2.3): a controller without a leg, beside one that has one, it
//! leaves out.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Result, bail};

use super::list_subsys::Shown;
use super::{Controller, ListSubsys, Status};

/// How often a host that changes is looked at again.
const LOOKS: usize = 5;

/// Both looked and said the same.
#[derive(Debug)]
pub struct Agreed {
    /// The topology.
    pub status: Status,
    compared: usize,
    left_out: Vec<String>,
}

impl fmt::Display for Agreed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nvme-cli agrees on {}", self.compared)?;
        match &self.left_out[..] {
            [] => Ok(()),
            left_out => write!(f, " and leaves out {}", left_out.join(", ")),
        }
    }
}

/// Has both look at this host. The error names every difference.
pub fn reached() -> Result<Agreed> {
    let mut before = Status::look()?;
    for _ in 0..LOOKS {
        let listed = ListSubsys::look()?;
        let after = Status::look()?;
        if before == after {
            let compared = Compared::of(&after, &listed);
            if !compared.differences.is_empty() {
                let differences = compared.differences.join("; ");
                bail!("nvme list-subsys disagrees: {differences}");
            }
            return Ok(Agreed {
                compared: after.controllers.len() - compared.left_out.len(),
                left_out: compared.left_out,
                status: after,
            });
        }
        before = after;
    }
    bail!("the host changed during each of {LOOKS} looks: {before:?}")
}

/// What came of a comparison.
#[derive(Debug, Default)]
struct Compared {
    differences: Vec<String>,
    /// Controllers that nvme-cli does not list in such a place.
    left_out: Vec<String>,
}

impl Compared {
    fn of(status: &Status, listed: &ListSubsys) -> Self {
        let Self {
            mut differences,
            mut left_out,
        } = Self::default();
        let mut shown: BTreeMap<&str, Shown<'_>> = BTreeMap::new();
        for controller in listed.controllers() {
            if shown.insert(controller.name, controller).is_some() {
                differences.push(format!("nvme-cli shows {} twice", controller.name));
            }
        }
        for ours in &status.controllers {
            match shown.remove(&ours.name[..]) {
                Some(theirs) => compare(status, ours, theirs, &mut differences),
                None if is_left_out(status, ours) => left_out.push(ours.name.clone()),
                None => differences.push(format!("nvme-cli does not show {}", ours.name)),
            }
        }
        let unseen = shown.into_keys();
        differences.extend(unseen.map(|name| format!("the agent does not show {name}")));
        Self {
            differences,
            left_out,
        }
    }
}

/// Whether the others of its subsystem have legs and it has none.
fn is_left_out(status: &Status, controller: &Controller) -> bool {
    let nqn = status.nqn_of(controller).unwrap_or_default();
    let Ok(subsystem) = status.subsystem(nqn) else {
        return false;
    };
    let mut legs = subsystem
        .namespaces
        .iter()
        .flat_map(|ns| &ns.legs)
        .peekable();
    legs.peek().is_some() && legs.all(|leg| leg.controller != controller.name)
}

fn compare(status: &Status, ours: &Controller, theirs: Shown<'_>, into: &mut Vec<String>) {
    let mut same = |what: &str, ours_said: Option<&str>, theirs_said: Option<&str>| {
        if ours_said != theirs_said {
            into.push(format!(
                "{} of {}: the agent says {ours_said:?}, nvme-cli {theirs_said:?}",
                what, ours.name
            ));
        }
    };
    let address = Address::parse(theirs.address);
    let endpoint = address.endpoint(theirs.transport);
    same(
        "subsystem",
        ours.subsystem.as_deref(),
        Some(theirs.subsystem),
    );
    same("NQN", status.nqn_of(ours), Some(theirs.nqn));
    same(
        "transport",
        ours.transport.as_deref(),
        Some(theirs.transport),
    );
    same("state", ours.state.as_deref(), Some(theirs.state));
    same("address", ours.endpoint.as_deref(), endpoint.as_deref());
    same(
        "src_addr",
        ours.src_addr.as_deref(),
        address.get("src_addr"),
    );
    // nvme-cli puts a controller without a host of its own under this node's.
    if ours.hostnqn.is_some() {
        same("host NQN", ours.hostnqn.as_deref(), theirs.hostnqn);
    }
    if ours.hostid.is_some() && theirs.hostid.is_some() {
        same("host id", ours.hostid.as_deref(), theirs.hostid);
    }
}

/// The kernel's `address`: `traddr=127.0.0.2,trsvcid=4420,…` on a fabric, a bus address on PCIe.
struct Address<'a> {
    text: &'a str,
}

impl<'a> Address<'a> {
    fn parse(text: &'a str) -> Self {
        Self { text }
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        let mut fields = self
            .text
            .split(',')
            .filter_map(|field| field.split_once('='));
        let (_, value) = fields.find(|(found, _)| found.trim() == key)?;
        Some(value.trim()).filter(|value| !value.is_empty() && *value != "none")
    }

    /// As the agent writes it. The lab's addresses are IPv4, or a bus address.
    fn endpoint(&self, transport: &str) -> Option<String> {
        let place = match (self.get("traddr"), self.get("trsvcid")) {
            (Some(traddr), Some(trsvcid)) => format!("{traddr}:{trsvcid}"),
            (Some(traddr), None) => traddr.to_owned(),
            (None, _) => Some(self.text).filter(|text| !text.is_empty())?.to_owned(),
        };
        let bound = ["host_traddr", "host_iface"];
        let bound = bound.map(|key| self.get(key).map(|value| format!("{key}={value}")));
        let bound: Vec<String> = bound.into_iter().flatten().collect();
        let mark = if bound.is_empty() { "" } else { "?" };
        Some(format!("{transport}://{place}{mark}{}", bound.join("&")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = r#"{
      "schema": "pathwarden/status/v1", "multipath": "on",
      "subsystems": [{"name": "nvme-subsys0", "nqn": "nqn.a", "namespaces": []}],
      "controllers": [{
        "name": "nvme0", "subsystem": "nvme-subsys0", "endpoint": "tcp://127.0.0.2:4420", "src_addr": "127.0.0.1",
        "hostnqn": "nqn.h", "hostid": null, "transport": "tcp", "state": "live"
      }],
      "counts": {"subsystems": 1, "controllers": 1, "namespaces": 0, "legs": 0, "usable_legs": 0, "parked": 0,
        "husks": 1},
      "unchecked": []
    }"#;

    const LISTED: &str = r#"[{
      "HostNQN": "nqn.h", "HostID": "11111111-2222-3333-4444-555555555555",
      "Subsystems": [{"Name": "nvme-subsys0", "NQN": "nqn.a", "Paths": [{
        "Name": "nvme0", "Transport": "tcp", "Address": "traddr=127.0.0.2,trsvcid=4420,src_addr=127.0.0.1",
        "State": "live"
      }]}]
    }]"#;

    fn differences_of(listed: &str) -> Vec<String> {
        let status: Status = serde_json::from_str(STATUS).unwrap();
        Compared::of(&status, &serde_json::from_str(listed).unwrap()).differences
    }

    #[test]
    fn the_same_host_in_both_forms_agrees() {
        assert_eq!(differences_of(LISTED), Vec::<String>::new());
    }

    #[test]
    fn another_state_and_another_address_are_told_with_both_words() {
        let other = LISTED
            .replace("live", "connecting")
            .replace(",src_addr=127.0.0.1", "")
            .replace("127.0.0.2", "127.0.0.3");
        assert_eq!(
            differences_of(&other),
            [
                "state of nvme0: the agent says Some(\"live\"), nvme-cli Some(\"connecting\")",
                "address of nvme0: the agent says Some(\"tcp://127.0.0.2:4420\"), \
                 nvme-cli Some(\"tcp://127.0.0.3:4420\")",
                "src_addr of nvme0: the agent says Some(\"127.0.0.1\"), nvme-cli None",
            ]
        );
    }

    #[test]
    fn a_controller_that_only_one_of_them_shows_is_named() {
        let other = LISTED.replace("\"nvme0\"", "\"nvme7\"");
        assert_eq!(
            differences_of(&other),
            [
                "nvme-cli does not show nvme0",
                "the agent does not show nvme7"
            ]
        );
    }

    #[test]
    fn a_controller_without_a_leg_beside_one_that_has_one_is_left_out() {
        let leg = r#""namespaces": [{"nsid": 1, "head": "nvme0n1", "legs": [
          {"name": "nvme0c7n1", "controller": "nvme7", "ana": null, "usable": null}]}]"#;
        let with_a_leg = STATUS.replace("\"namespaces\": []", leg);
        let status: Status = serde_json::from_str(&with_a_leg).unwrap();
        let nobody: ListSubsys = serde_json::from_str("[]").unwrap();
        let compared = Compared::of(&status, &nobody);
        assert_eq!(
            (compared.differences.len(), &compared.left_out[..]),
            (0, &["nvme0".to_owned()][..])
        );
        let no_legs: Status = serde_json::from_str(STATUS).unwrap();
        let compared = Compared::of(&no_legs, &nobody);
        assert_eq!(compared.differences, ["nvme-cli does not show nvme0"]);
    }

    #[test]
    fn a_bus_address_and_a_bound_one_are_written_as_the_agent_writes_them() {
        let endpoint = |text, transport| Address::parse(text).endpoint(transport).unwrap();
        assert_eq!(endpoint("0000:00:04.0", "pcie"), "pcie://0000:00:04.0");
        assert_eq!(
            endpoint("traddr=127.0.0.2,trsvcid=4420,host_traddr=127.0.0.9", "tcp"),
            "tcp://127.0.0.2:4420?host_traddr=127.0.0.9"
        );
        assert!(Address::parse("").endpoint("loop").is_none());
    }
}
