//! A window as text.

use std::{fmt::Write as _, time::Duration};

use crate::{
    fabric::BootNs,
    watch::{Cause, Class, Severity, Window},
};

/// A few lines: how long, whose, why it began and ended, how exact that is.
pub(super) fn text(window: &Window) -> String {
    let mut text = String::new();
    let mut line = |words: std::fmt::Arguments<'_>| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{words}");
    };
    line(format_args!(
        "{} {}  {} nsid {}{}",
        if window.class == Class::Cutover { "cutover" } else { "outage " },
        length(window),
        window.nqn,
        window.nsid,
        window.uuid.map(|uuid| format!(" ({uuid})")).unwrap_or_default(),
    ));
    let wall = window.begin_unix_ms.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    let wall = wall.map(|time| format!("  {time}")).unwrap_or_default();
    let before = if window.truncated_begin { "before " } else { "" };
    line(format_args!(
        "  began {before}{}  by {}{wall}",
        seconds(window.begin_ns),
        cause(&window.cause_begin)
    ));
    if let (Some(end), Some(by)) = (window.end_ns, &window.cause_end) {
        let after = if window.truncated_end { "after  " } else { "" };
        line(format_args!("  ended {after}{}  by {}", seconds(end), cause(by)));
    }
    let fate = match window.severity {
        Severity::Queued => "I/O was held",
        Severity::Failing => "I/O would have failed",
        Severity::Lost => "no leg was left",
    };
    let error = Duration::from_nanos(window.error_ns);
    line(format_args!("  {fate}; each end ±{error:?} ({})", window.source.as_str()));
    text.truncate(text.trim_end().len());
    text
}

fn length(window: &Window) -> String {
    let of = |nanoseconds| format!("{:.6} s", Duration::from_nanos(nanoseconds).as_secs_f64());
    match (window.duration_ns, window.at_least_ns) {
        (Some(whole), _) => of(whole),
        (None, Some(seen)) => format!("at least {}", of(seen)),
        (None, None) => "open".to_owned(),
    }
}

fn seconds(time: BootNs) -> String {
    format!("boot+{}.{:06} s", time.0 / 1_000_000_000, time.0 % 1_000_000_000 / 1_000)
}

fn cause(cause: &Cause) -> String {
    let mut text = cause.kind.as_str().to_owned();
    if let Some(controller) = cause.controller {
        // Writing to a string does not fail.
        let _ = write!(text, " on {controller}");
    }
    if let Some(endpoint) = &cause.endpoint {
        let _ = write!(text, " ({endpoint})");
    }
    text
}
