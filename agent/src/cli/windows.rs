//! `pathwarden windows`: what the agent has recorded, newest last.

use std::{path::PathBuf, time::Duration};

use anyhow::Context as _;
use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;
use serde_json::Value;

use super::render::{Style, Table, Tone, printable, unchecked_lines};
use super::{Common, Exit, Format};
use crate::config;
use crate::fabric::{Nqn, Unchecked};
use crate::host::clock;
use crate::store::{Listing, Store, StoredCause, StoredWindow, WindowQuery};

/// Flags of `windows`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only those of this subsystem
    #[arg(long, value_name = "NQN")]
    subsystem: Option<Nqn>,
    /// Only those that lasted into this time or began later: RFC 3339, or how long ago (30m, 7d)
    #[arg(long, value_name = "WHEN", value_parser = since)]
    since: Option<Since>,
    /// Only those that lasted longer, as far as is known (500ms, 3s)
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    longer_than: Option<Duration>,
    /// Only those of this class
    #[arg(long, value_parser = ["cutover", "outage"])]
    class: Option<String>,
    /// At most so many, the newest
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Where they are kept, instead of store.path (/var/lib/pathwarden)
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

/// A time as it was asked for.
#[derive(Debug, Clone, Copy)]
enum Since {
    At(Timestamp),
    Ago(Duration),
}

/// What was found.
#[derive(Debug, Serialize)]
struct Report<'a> {
    schema: &'static str,
    windows: Vec<&'a Value>,
    unchecked: &'a [Unchecked],
}

/// Lists the recorded windows.
///
/// # Errors
/// When the settings or the store cannot be read, or nothing can be written.
pub(super) fn run(args: &Args, common: &Common) -> anyhow::Result<Exit> {
    let config = config::load(common.config.as_deref(), std::env::vars())?;
    let folder = args.state_dir.as_ref().unwrap_or(&config.store.path);
    let store = Store::open_read_only(folder)?;
    let mut listing = store.windows(&query(args))?;
    if let Some(reason) = store.problem()? {
        let object = store.path().display().to_string();
        listing.unchecked.push(Unchecked { object, reason });
    }
    let text = match common.output {
        Format::Json => json(&listing)?,
        Format::Text => text(&listing, &TimeZone::system(), Style::of_stdout()),
    };
    super::print(&text)?;
    Ok(if listing.unchecked.is_empty() {
        Exit::Clean
    } else {
        Exit::Unchecked
    })
}

fn query(args: &Args) -> WindowQuery {
    let since = args.since.map(|since| match since {
        Since::At(time) => time.as_millisecond(),
        Since::Ago(length) => {
            let length = i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
            clock::wall().millis().saturating_sub(length)
        }
    });
    WindowQuery {
        nqn: args.subsystem.clone(),
        since_unix_ms: since,
        longer_than: args.longer_than,
        class: args.class.clone(),
        limit: args.limit,
    }
}

fn since(text: &str) -> Result<Since, String> {
    match (config::parse_length(text), text.parse()) {
        (Some(length), _) => Ok(Since::Ago(length)),
        (None, Ok(time)) => Ok(Since::At(time)),
        (None, Err(_)) => Err(
            "expected a time such as \"2026-01-31T12:00:00Z\", or how long ago, such as \"2h\""
                .to_owned(),
        ),
    }
}

fn length(text: &str) -> Result<Duration, String> {
    config::parse_length(text).ok_or_else(|| format!("expected {}", config::A_LENGTH))
}

fn json(listing: &Listing) -> anyhow::Result<String> {
    let report = Report {
        schema: "pathwarden/windows/v1",
        windows: listing.windows.iter().map(|it| &it.document).collect(),
        unchecked: &listing.unchecked,
    };
    let mut text = serde_json::to_string_pretty(&report).context("writing JSON")?;
    text.push('\n');
    Ok(text)
}

fn text(listing: &Listing, zone: &TimeZone, style: Style) -> String {
    let mut text = String::new();
    if listing.windows.is_empty() {
        text.push_str("no windows\n");
    }
    let mut table = Table::default();
    for window in &listing.windows {
        let severity = match window.severity.as_str() {
            "queued" => Tone::Plain,
            "failing" => Tone::Doubtful,
            _ => Tone::Bad,
        };
        let class = match window.class.as_str() {
            "cutover" => Tone::Plain,
            _ => Tone::Doubtful,
        };
        table.row([
            (Tone::Faint, begin(window, zone)),
            (
                if window.open { Tone::Bad } else { Tone::Plain },
                lasted(window),
            ),
            (class, printable(&window.class)),
            (severity, printable(&window.severity)),
            (Tone::Plain, causes(window)),
            (
                Tone::Plain,
                format!("{} nsid {}", printable(window.nqn.as_str()), window.nsid.0),
            ),
        ]);
    }
    table.write(&mut text, 0, style);
    unchecked_lines(&mut text, &listing.unchecked, style);
    text
}

/// In local time; as far as it is known.
fn begin(window: &StoredWindow, zone: &TimeZone) -> String {
    let time = window
        .begin_unix_ms
        .and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.map_or_else(
        || "?".to_owned(),
        |time| {
            let local = time.to_zoned(zone.clone());
            local.strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string()
        },
    )
}

/// A bound is never more than was seen: it is cut, not rounded.
fn lasted(window: &StoredWindow) -> String {
    let milliseconds = |ns: u64| {
        let ms = ns / 1_000_000;
        format!("{}.{:03} s", ms / 1_000, ms % 1_000)
    };
    match (window.open, window.duration_ns, window.at_least_ns) {
        (true, _, Some(seen)) => {
            let tenths = seen / 100_000_000;
            format!("open {}.{} s", tenths / 10, tenths % 10)
        }
        (true, _, None) => "open".to_owned(),
        (false, Some(whole), _) => milliseconds(whole.saturating_add(500_000)),
        (false, None, Some(seen)) => format!("≥ {}", milliseconds(seen)),
        (false, None, None) => "?".to_owned(),
    }
}

/// An end that was not seen has a cause that is not known; an open window has none yet.
fn causes(window: &StoredWindow) -> String {
    let begun = cause(&window.cause_begin);
    match &window.cause_end {
        Some(ended) => format!("{begun} -> {}", cause(ended)),
        None if window.open => begun,
        None => format!("{begun} -> ?"),
    }
}

fn cause(cause: &StoredCause) -> String {
    let kind = printable(&cause.kind);
    match cause.controller {
        Some(controller) => format!("{kind} on {controller}"),
        None => kind,
    }
}
