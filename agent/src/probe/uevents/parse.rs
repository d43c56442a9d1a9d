//! A uevent's bytes to what they say.
//!
//! A message is `ACTION@DEVPATH` and then `KEY=VALUE` fields, each ended by a zero byte (`kobject_uevent_env`,
//! lib/kobject_uevent.c). What udev sends on begins with `libudev` and is none.

use crate::fabric::{DiskName, Endpoint, SysfsAddress, Transport};

use super::{ControllerChange, HeadChange, NvmeEvent, Presence, Uevent};

/// What a message says; `None` for what this agent does not listen for, and for what is no message.
#[must_use]
pub(super) fn parse(message: &[u8]) -> Option<Uevent> {
    let fields = Fields::of(message)?;
    let subsystem = fields.get("SUBSYSTEM")?;
    // Somebody wrote to a file `uevent`: nothing happened to the device.
    if fields.get("SYNTH_UUID").is_some() {
        return None;
    }
    let action = fields.get("ACTION")?;
    let name = fields.get("DEVPATH")?.rsplit('/').next()?;
    match subsystem {
        "module" => Some(Uevent::Module {
            change: presence(action)?,
            name: Some(name).filter(|name| !name.is_empty())?.into(),
        }),
        "nvme" => Some(Uevent::Controller {
            name: name.parse().ok()?,
            change: controller_change(action, &fields)?,
            endpoint: endpoint(&fields).map(Box::new),
        }),
        "nvme-subsystem" => Some(Uevent::Subsystem {
            name: name.parse().ok()?,
            change: presence(action)?,
        }),
        "block" => {
            let name: DiskName = name.parse().ok()?;
            let change = head_change(action, &fields)?;
            let visible = name.controller.is_none();
            visible.then_some(Uevent::Head { name, change })
        }
        _ => None,
    }
}

/// The fields after the first line.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn of(message: &'a [u8]) -> Option<Self> {
        let end = message.iter().position(|byte| *byte == 0)?;
        let (line, fields) = message.split_at_checked(end)?;
        line.contains(&b'@').then_some(Self(fields))
    }

    /// A field's value. One that is no text is as good as absent.
    fn get(&self, key: &str) -> Option<&'a str> {
        let value = self.0.split(|byte| *byte == 0).find_map(|field| {
            let value = field.strip_prefix(key.as_bytes())?;
            value.strip_prefix(b"=")
        })?;
        std::str::from_utf8(value).ok()
    }
}

fn presence(action: &str) -> Option<Presence> {
    match action {
        "add" => Some(Presence::Added),
        "remove" => Some(Presence::Removed),
        _ => None,
    }
}

fn controller_change(action: &str, fields: &Fields<'_>) -> Option<ControllerChange> {
    match action {
        "add" => Some(ControllerChange::Added),
        "remove" => Some(ControllerChange::Removed),
        "change" => {
            let event = fields.get("NVME_EVENT").map(|event| match event {
                "connected" => NvmeEvent::Connected,
                "rediscover" => NvmeEvent::Rediscover,
                other => NvmeEvent::Other(other.into()),
            });
            Some(ControllerChange::Changed(event))
        }
        _ => None,
    }
}

/// A head also says `change` each time that one of its controllers becomes live, which the controller's own event
/// tells better.
fn head_change(action: &str, fields: &Fields<'_>) -> Option<HeadChange> {
    match action {
        "add" => Some(HeadChange::Added),
        "remove" => Some(HeadChange::Removed),
        "change" => (fields.get("RESIZE") == Some("1")).then_some(HeadChange::Resized),
        _ => None,
    }
}

/// `nvme_class_uevent` writes `none` for what is not set, as the attribute `address` would leave it out.
fn endpoint(fields: &Fields<'_>) -> Option<Endpoint> {
    let transport = Transport::new(fields.get("NVME_TRTYPE")?);
    let address = SysfsAddress {
        traddr: fields.get("NVME_TRADDR"),
        trsvcid: fields.get("NVME_TRSVCID"),
        host_traddr: fields.get("NVME_HOST_TRADDR"),
        host_iface: fields.get("NVME_HOST_IFACE"),
        src_addr: None,
    };
    Endpoint::from_sysfs(&transport, &address).value().cloned()
}
