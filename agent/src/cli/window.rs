//! A window as text.

use std::time::Duration;

use crate::{
    fabric::BootNs,
    watch::{Cause, Class, Severity, Window},
};

/// A few lines: how long, whose, why it began and ended, how exact that is.
pub(super) fn text(window: &Window) -> String {
    let mut lines = Vec::new();
    lines.push(format!(
        "{} {}  {} nsid {}{}",
        if window.class == Class::Cutover {
            "cutover"
        } else {
            "outage "
        },
        length(window),
        window.nqn,
        window.nsid,
        window
            .uuid
            .map(|uuid| format!(" ({uuid})"))
            .unwrap_or_default(),
    ));
    let wall = window
        .begin_unix_ms
        .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    let wall = wall.map(|time| format!("  {time}")).unwrap_or_default();
    let before = if window.truncated_begin {
        "before "
    } else {
        ""
    };
    lines.push(format!(
        "  began {before}{}  by {}{wall}",
        seconds(window.begin_ns),
        cause(&window.cause_begin)
    ));
    if let (Some(end), Some(by)) = (window.end_ns, &window.cause_end) {
        let after = if window.truncated_end { "after  " } else { "" };
        lines.push(format!("  ended {after}{}  by {}", seconds(end), cause(by)));
    }
    let fate = match window.severity {
        Severity::Queued => "I/O was held",
        Severity::Failing => "I/O would have failed",
        Severity::Lost => "no leg was left",
    };
    let error = Duration::from_nanos(window.error_ns);
    lines.push(format!(
        "  {fate}; each end ±{error:?} ({})",
        window.source.as_str()
    ));
    lines.join("\n")
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
    format!(
        "boot+{}.{:06} s",
        time.0 / 1_000_000_000,
        time.0 % 1_000_000_000 / 1_000
    )
}

fn cause(cause: &Cause) -> String {
    let on = cause
        .controller
        .map(|controller| format!(" on {controller}"));
    let at = cause
        .endpoint
        .as_ref()
        .map(|endpoint| format!(" ({endpoint})"));
    [Some(cause.kind.as_str().to_owned()), on, at]
        .into_iter()
        .flatten()
        .collect()
}
