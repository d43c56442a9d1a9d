//! `pathwarden status`: the topology as it is, as a tree or as `pathwarden/status/v1`.

use super::render::{self, Style, Table, Tone, printable};
use super::{Common, Exit, Format};
use crate::fabric::{
    Attr, Controller, ControllerState, Host, LegStanding, Limit, Multipath, Namespace, Subsystem,
    Untold, Unusable, View,
};
use crate::host::sysfs;

/// Flags of `status`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

/// Prints the topology.
///
/// # Errors
/// When sysfs cannot be read at all, or nothing can be written.
pub(super) fn run(_args: &Args, common: &Common) -> anyhow::Result<Exit> {
    let host = sysfs::scan(&common.sys_root())?;
    match common.output {
        Format::Json => super::print_json(&host)?,
        Format::Text => super::print(&tree(&host, Style::of_stdout()))?,
    }
    Ok(if host.unchecked.is_empty() {
        Exit::Clean
    } else {
        Exit::Unchecked
    })
}

/// The tree: a line of counts, each subsystem with its namespaces and controllers, what belongs nowhere, and what
/// could not be read.
fn tree(host: &Host, style: Style) -> String {
    let view = View::new(host);
    let mut text = heading(&view, style);
    for subsystem in &host.subsystems {
        text.push('\n');
        subsystem_lines(&mut text, &view, subsystem, style);
    }
    let unattached: Vec<&Controller> = host
        .controllers
        .iter()
        .filter(|c| c.subsystem.is_none())
        .collect();
    if !unattached.is_empty() {
        text.push_str(&format!(
            "\n{}\n",
            style.paint(Tone::Strong, "no subsystem")
        ));
        controller_table(&view, &unattached).write(&mut text, 2, style);
    }
    render::unchecked_lines(&mut text, &host.unchecked, style);
    text
}

fn heading(view: &View<'_>, style: Style) -> String {
    let host = view.host();
    let counts = view.counts();
    let mut line = [
        render::counted(counts.subsystems, "subsystem"),
        render::counted(counts.controllers, "controller"),
        render::counted(counts.namespaces, "namespace"),
        format!(
            "{} ({} usable)",
            render::counted(counts.legs, "leg"),
            counts.usable_legs
        ),
    ]
    .join(", ");
    if counts.parked > 0 {
        line.push_str(&format!(", {} parked", counts.parked));
    }
    if counts.husks > 0 {
        line.push_str(&format!(", {}", render::counted(counts.husks, "husk")));
    }
    let kernel = host
        .kernel
        .as_deref()
        .map_or_else(|| "kernel unknown".to_owned(), |k| format!("kernel {k}"));
    let multipath = match host.multipath {
        Some(Multipath::On) => "multipath on",
        Some(Multipath::Off) => "multipath off: every controller has disks of its own",
        None => "multipath unknown",
    };
    // A one-shot look has no history.
    let about = format!(
        "{}, {multipath}; ages unknown: nobody watched",
        printable(&kernel)
    );
    format!(
        "{}\n{}\n",
        style.paint(Tone::Strong, &line),
        style.paint(Tone::Faint, &about)
    )
}

fn subsystem_lines(text: &mut String, view: &View<'_>, subsystem: &Subsystem, style: Style) {
    let nqn = match &subsystem.nqn {
        Attr::Value(nqn) => printable(nqn.as_str()),
        Attr::Unset => "(no NQN)".to_owned(),
        Attr::Unreadable(fault) => format!("(NQN not read: {fault})"),
    };
    let name = style.paint(Tone::Strong, &subsystem.name.to_string());
    text.push_str(&format!("{name}  {nqn}\n"));
    let mut about = Vec::new();
    if subsystem.is_discovery() {
        about.push("discovery".to_owned());
    }
    about.extend(subsystem.model.as_deref().map(printable));
    about.extend(
        subsystem
            .serial
            .as_deref()
            .map(|serial| format!("serial {}", printable(serial))),
    );
    about.extend(
        subsystem
            .iopolicy
            .as_deref()
            .map(|policy| format!("policy {}", printable(policy))),
    );
    if !about.is_empty() {
        text.push_str(&format!(
            "  {}\n",
            style.paint(Tone::Faint, &about.join(", "))
        ));
    }
    for namespace in &subsystem.namespaces {
        namespace_lines(text, view, namespace, style);
    }
    let members = view.controllers_of(subsystem.name);
    controller_table(view, members).write(text, 2, style);
}

fn namespace_lines(text: &mut String, view: &View<'_>, namespace: &Namespace, style: Style) {
    let nsid = namespace
        .nsid
        .map_or_else(|| "?".to_owned(), |nsid| nsid.to_string());
    let mut line = format!("namespace {nsid}");
    let shared = namespace
        .legs
        .iter()
        .any(|leg| leg.name.controller.is_some());
    let size = match &namespace.head {
        Some(head) => {
            line.push_str(&format!("  {}", head.name));
            head.size
        }
        None => {
            if shared {
                line.push_str("  no head");
            }
            namespace.legs.first().map_or(Attr::Unset, |leg| leg.size)
        }
    };
    if let Attr::Value(size) = size {
        line.push_str(&format!("  {}", render::size(size.0)));
    }
    if let Some(uuid) = namespace.uuid {
        line.push_str(&format!("  {uuid}"));
    }
    let standing = view.namespace_standing(namespace);
    let dark = standing.is_dark();
    let tone = if dark { Tone::Bad } else { Tone::Plain };
    if dark {
        line.push_str("  no usable leg");
    }
    text.push_str(&format!("  {}\n", style.paint(tone, &line)));
    let mut table = Table::default();
    for leg in &namespace.legs {
        let ana = match leg.ana {
            Attr::Value(ana) => ana.to_string(),
            Attr::Unset => "no ANA".to_owned(),
            Attr::Unreadable(_) => "?".to_owned(),
        };
        let (tone, standing) = standing_text(view.standing(namespace, leg));
        table.row([
            (Tone::Plain, leg.name.to_string()),
            (Tone::Plain, format!("through {}", leg.controller)),
            (Tone::Plain, ana),
            (tone, standing),
        ]);
    }
    table.write(text, 4, style);
}

fn standing_text(standing: LegStanding) -> (Tone, String) {
    match standing {
        LegStanding::Usable { assumed: false } => (Tone::Good, "usable".to_owned()),
        LegStanding::Usable { assumed: true } => (Tone::Good, "usable (assumed)".to_owned()),
        LegStanding::Unusable(why) => {
            let why = match why {
                Unusable::Controller(state) => format!("controller {state}"),
                Unusable::Ana(ana) => ana.to_string(),
                Unusable::NotReady => "size is 0 or not the head's".to_owned(),
            };
            (Tone::Doubtful, format!("not usable: {why}"))
        }
        LegStanding::Unknown(why) => {
            let why = match why {
                Untold::Transient => "not read completely",
                Untold::Deleting => "its controller is being deleted",
                Untold::NoHead => "accessible and without a head",
            };
            (Tone::Doubtful, format!("unknown: {why}"))
        }
    }
}

fn controller_table(view: &View<'_>, controllers: &[&Controller]) -> Table {
    let mut table = Table::default();
    for controller in controllers {
        let tone = match controller.state {
            ControllerState::Live => Tone::Good,
            ControllerState::Dead | ControllerState::Unknown => Tone::Bad,
            _ => Tone::Doubtful,
        };
        let endpoint = match &controller.endpoint {
            Attr::Value(endpoint) => printable(&endpoint.to_string()),
            Attr::Unset => match controller.transport.value() {
                Some(transport) => format!("{}, no address", printable(transport.as_str())),
                None => "no address".to_owned(),
            },
            Attr::Unreadable(fault) => format!("address not read: {fault}"),
        };
        let mut notes = Vec::new();
        if view.is_parked(controller) {
            notes.push("parked".to_owned());
        } else if view.is_husk(controller) {
            notes.push("husk".to_owned());
        }
        notes.extend(timeouts(controller));
        table.row([
            (Tone::Plain, controller.name.to_string()),
            (tone, state_text(controller)),
            (Tone::Plain, endpoint),
            (Tone::Faint, notes.join(", ")),
        ]);
    }
    table
}

fn state_text(controller: &Controller) -> String {
    match (controller.state, &controller.unknown_state) {
        (ControllerState::Unknown, None) => "not read".to_owned(),
        _ => printable(controller.state_text()),
    }
}

/// The timeouts, where the controller has them: how long it tries, how often, and how long its I/O is held.
fn timeouts(controller: &Controller) -> Option<String> {
    let shown = |attr: &Attr<Limit>| match attr {
        Attr::Value(limit) => Some(limit.to_string()),
        Attr::Unset => None,
        Attr::Unreadable(_) => Some("?".to_owned()),
    };
    let parts: Vec<String> = [
        ("gives up after", &controller.ctrl_loss_tmo),
        ("retries every", &controller.reconnect_delay),
        ("fails I/O after", &controller.fast_io_fail_tmo),
    ]
    .into_iter()
    .filter_map(|(what, attr)| {
        let limit = shown(attr)?;
        Some(match (what, limit.as_str()) {
            ("gives up after", "off") => "never gives up".to_owned(),
            ("retries every", "off") => "does not retry".to_owned(),
            ("fails I/O after", "off") => "holds I/O".to_owned(),
            (what, limit) => format!("{what} {limit}"),
        })
    })
    .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
