//! `pathwarden watch`: what happens, one line an event, windows set apart.

use std::{collections::BTreeSet, io::Write as _};

use serde_json::json;

use super::{
    Common, Exit, Format,
    render::{Style, Tone, printable},
    run, window,
};
use crate::{
    config,
    engine::{self, Told},
    event::{ControllerId, Envelope, Event, trace},
    watch::Change,
};

/// Flags of `watch`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    watching: run::Watching,
}

pub(super) fn run(args: &Args, common: &Common) -> anyhow::Result<Exit> {
    let config = config::load(common.config.as_deref(), std::env::vars())?;
    let settings = args.watching.settings(common, &config);
    let style = Style::of_stdout();
    let output = common.output;
    let mut news = News::default();
    run::runtime()?.block_on(engine::run(&settings, |told| {
        let text = match (output, told) {
            (Format::Text, Told::Event(envelope)) if !news.is_new(&envelope.event) => None,
            (Format::Text, Told::Event(envelope)) => event_line(envelope, style),
            (Format::Text, Told::Change(change)) => change_lines(change, style),
            (Format::Json, Told::Event(envelope)) => Some(trace::line(envelope)?),
            (Format::Json, Told::Change(change)) => change_json(change)?,
            (Format::Json, Told::Second(_)) => None,
            (Format::Text, Told::Second(_)) => None,
        };
        let Some(text) = text else {
            return Ok(());
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{text}")?;
        out.flush()
    }))?;
    Ok(Exit::Clean)
}

/// What was told before. Every look tells of every controller and leg again.
#[derive(Debug, Default)]
struct News {
    looked: bool,
    controllers: BTreeSet<ControllerId>,
}

impl News {
    fn is_new(&mut self, event: &Event) -> bool {
        match event {
            Event::Snapshot { .. } => !std::mem::replace(&mut self.looked, true),
            Event::ControllerAdded { controller, .. } => self.controllers.insert(*controller),
            Event::ControllerRemoved { controller } => {
                self.controllers.remove(controller);
                true
            }
            Event::Wall { .. } | Event::LegWords { .. } => false,
            _ => true,
        }
    }
}

/// Time, what, who.
fn event_line(envelope: &Envelope, style: Style) -> Option<String> {
    let told = match &envelope.event {
        Event::Snapshot { host, .. } => format!(
            "{} controllers in {} subsystems",
            host.controllers.len(),
            host.subsystems.len()
        ),
        event => words(event),
    };
    let word = format!("{:<18}", envelope.event.word());
    let time = format!("{:>16}", window::seconds(envelope.time));
    Some(format!(
        "{}  {word} {}",
        style.paint(Tone::Faint, &time),
        printable(&told)
    ))
}

fn words(event: &Event) -> String {
    match event {
        Event::ControllerAdded {
            controller,
            nqn,
            endpoint,
            state,
            ..
        } => {
            let endpoint = endpoint.as_ref().map(ToString::to_string);
            format!(
                "{controller} {state} {} {nqn}",
                endpoint.unwrap_or_default()
            )
        }
        Event::ControllerState {
            controller,
            old,
            new,
        } => format!("{controller} {old} -> {new}"),
        Event::Delete { controller, by } => format!("{controller} by {}", by.as_str()),
        Event::ControllerRemoved { controller }
        | Event::Recovery { controller }
        | Event::KeepAliveFailed { controller }
        | Event::FailfastExpired { controller } => controller.to_string(),
        Event::Connect {
            controller,
            attempt,
            result,
        } => format!("{controller} attempt {attempt}: {result}"),
        Event::Reconnect {
            controller,
            attempt,
            result,
        } => {
            let result = result.map_or_else(|| "not told".to_owned(), |it| it.to_string());
            format!("{controller} attempt {attempt}: {result}")
        }
        Event::Ana {
            controller,
            group,
            state,
            nsids,
            ..
        } => {
            let nsids: Vec<String> = nsids.iter().map(ToString::to_string).collect();
            format!(
                "{controller} group {group} {state} nsid {}",
                nsids.join(",")
            )
        }
        Event::AnaPending { controller, nsid } | Event::LegRemoved { controller, nsid } => {
            format!("{controller} nsid {nsid}")
        }
        Event::LegAdded {
            controller,
            nsid,
            state,
            ..
        } => {
            let ana = state.ana.map_or("without ANA", |ana| ana.as_str());
            format!("{controller} nsid {nsid} {ana}")
        }
        Event::LegReady {
            controller,
            nsid,
            ready,
        } => format!(
            "{controller} nsid {nsid} {}",
            if *ready { "ready" } else { "not ready" }
        ),
        Event::HeadAdded { namespace } => format!("nsid {} {}", namespace.nsid, namespace.nqn),
        Event::HeadRemoved { namespace, held } => {
            let held = if *held == Some(true) {
                " (held open)"
            } else {
                ""
            };
            format!("nsid {} {}{held}", namespace.nsid, namespace.nqn)
        }
        Event::Failover {
            controller,
            nsid,
            status,
            count,
            ..
        } => format!("{controller} nsid {nsid} {count} with status {status:#x}"),
        Event::Requeued {
            namespace, count, ..
        }
        | Event::Failed {
            namespace, count, ..
        } => format!("{count} of nsid {} {}", namespace.nsid, namespace.nqn),
        Event::Link { ifname, up } => format!("{ifname} {}", if *up { "up" } else { "down" }),
        Event::Desired { nqn, published, .. } => format!("{} published {nqn}", published.len()),
        Event::Migration { id, phase, nqn, .. } => format!("{id} {phase} {nqn}"),
        Event::Lost { count } => format!("{count} events"),
        Event::Snapshot { .. } | Event::LegWords { .. } | Event::Wall { .. } => String::new(),
    }
}

fn change_lines(change: &Change, style: Style) -> Option<String> {
    let (tone, text) = match change {
        Change::Opened(it) => (Tone::Bad, format!("DARK   {}", window::opened(it))),
        Change::Worsened(it) => (
            Tone::Bad,
            format!("WORSE  {} {}: {}", it.nqn, it.nsid, window::fate(it)),
        ),
        Change::Closed(it) => (Tone::Strong, window::text(it)),
        Change::Amended(_) => return None,
        Change::Froze(freeze) => (Tone::Strong, window::freeze(freeze)),
        Change::DoubleOptimized(it) => {
            let what = if it.end_ns.is_some() {
                "no longer"
            } else {
                "now"
            };
            let told = format!(
                "DOUBLE {} nsid {}: source and target both optimized {what}",
                it.nqn, it.nsid
            );
            (Tone::Bad, told)
        }
        Change::Drifted(drift) => (Tone::Doubtful, format!("drift  {drift}")),
    };
    let lines = text.lines().map(|line| style.paint(tone, &printable(line)));
    let lines: Vec<String> = lines.collect();
    Some(format!("\n{}\n", lines.join("\n")))
}

/// A line for programs: an event is one of the trace format, what it came to an object of its own.
fn change_json(change: &Change) -> serde_json::Result<Option<String>> {
    let line = match change {
        Change::Opened(it) => json!({"type": "window-opened", "window": it}),
        Change::Worsened(it) => json!({"type": "window-worsened", "window": it}),
        Change::Closed(it) => json!({"type": "window-closed", "window": it}),
        Change::Amended(it) => json!({"type": "window-amended", "window": it}),
        Change::Froze(it) => json!({"type": "freeze", "freeze": it}),
        Change::DoubleOptimized(it) => json!({"type": "double-optimized", "span": it}),
        Change::Drifted(it) => json!({"type": "drift", "what": it.to_string()}),
    };
    serde_json::to_string(&line).map(Some)
}
