//! A window as text.

use std::time::Duration;

use crate::{
    fabric::BootNs,
    watch::{Cause, Class, Freeze, Severity, Window},
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
    let error = Duration::from_nanos(window.error_ns);
    lines.push(format!(
        "  {}; each end ±{error:?} ({})",
        fate(window),
        window.source.as_str()
    ));
    if let Some(nearby) = &window.cause_begin.nearby {
        lines.push(format!(
            "  interface {} went down {}",
            nearby.ifname,
            seconds(nearby.down_ns)
        ));
    }
    lines.join("\n")
}

/// What the kernel did with I/O meanwhile.
pub(super) fn fate(window: &Window) -> String {
    let fate = match window.severity {
        Severity::Queued => "I/O was held",
        Severity::Failing => "I/O would have failed",
        Severity::Lost => "no leg was left",
    };
    let since = window.failing_since_ns;
    let since = since.map(|since| format!(" since {}", seconds(since)));
    let about = if window.exact { "" } else { "about " };
    let counted = |count: Option<u64>, what| count.map(|count| format!(", {about}{count} {what}"));
    [
        Some(fate.to_owned()),
        since,
        counted(window.requeued, "held"),
        counted(window.failed, "failed"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// One line on a window that has just opened.
pub(super) fn opened(window: &Window) -> String {
    format!(
        "{} nsid {} since {} by {}",
        window.nqn,
        window.nsid,
        seconds(window.begin_ns),
        cause(&window.cause_begin)
    )
}

/// One line on a freeze.
pub(super) fn freeze(freeze: &Freeze) -> String {
    let length = freeze.end_ns.saturating_since(freeze.begin_ns);
    let of = match freeze.windows.len() {
        1 => "1 window".to_owned(),
        many => format!("{many} windows"),
    };
    let migration = freeze.migration.as_ref();
    let migration = migration.map(|id| format!(" of migration {id}"));
    format!(
        "freeze {}{}  {:.6} s in {of}  {} nsid {}",
        freeze.count,
        migration.unwrap_or_default(),
        length.as_secs_f64(),
        freeze.nqn,
        freeze.nsid
    )
}

fn length(window: &Window) -> String {
    let of = |nanoseconds| format!("{:.6} s", Duration::from_nanos(nanoseconds).as_secs_f64());
    match (window.duration_ns, window.at_least_ns) {
        (Some(whole), _) => of(whole),
        (None, Some(seen)) => format!("at least {}", of(seen)),
        (None, None) => "open".to_owned(),
    }
}

/// A boot-clock time.
pub(super) fn seconds(time: BootNs) -> String {
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
