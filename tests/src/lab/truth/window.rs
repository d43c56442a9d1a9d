//! The true window, from the signs in the trace.

use anyhow::{Result, bail};

use super::event::{Call, Event, Pointer};
use super::sign::Sign;
use crate::lab::clock::{BootNs, Span};
use crate::lab::host::Controller;

/// A window as the kernel's own calls show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrueWindow {
    /// From the moment the last path was unusable to the moment one was usable.
    pub span: Span,
    /// What began it, and the first of the other kinds that could have: a failed request and the log can come within
    /// microseconds, on two CPUs. In time order, by the names that an agent should give them.
    pub begun_by: Vec<(BootNs, &'static str)>,
    /// What ended it.
    pub ended_by: &'static str,
}

/// The controller object behind a controller that `Host::connect` made: the one that connected meanwhile.
pub(super) fn pointer_of(events: &[Event], controller: &Controller) -> Result<Pointer> {
    let during = controller.connected;
    let mut connected: Vec<_> = events
        .iter()
        .filter(|event| during.begin <= event.at && event.at <= during.end)
        .filter_map(|event| match event.call {
            Call::Connect { controller } => Some(controller),
            _ => None,
        })
        .collect();
    connected.dedup();
    match connected[..] {
        [one] => Ok(one),
        [] => bail!(
            "{} connected unseen by the trace in {during}",
            controller.name
        ),
        _ => bail!(
            "{} was not the only one that connected in {during}",
            controller.name
        ),
    }
}

/// Begins at the first of the signs `begins` since `from`, and ends at the first of `ends` after that.
pub(super) fn find(
    signs: &[(BootNs, Sign<Pointer>)],
    from: BootNs,
    begins: &[Sign<Pointer>],
    ends: &[Sign<Pointer>],
) -> Result<TrueWindow> {
    let mut begun_by: Vec<(BootNs, &'static str)> = Vec::new();
    for (at, sign) in signs.iter().filter(|(at, _)| *at >= from) {
        let Some(cause) = sign.cause() else {
            continue;
        };
        if let Some(&(begin, _)) = begun_by.first()
            && ends.contains(sign)
        {
            return Ok(TrueWindow {
                span: Span { begin, end: *at },
                begun_by,
                ended_by: cause,
            });
        }
        if begins.contains(sign) && begun_by.iter().all(|(_, known)| *known != cause) {
            begun_by.push((*at, cause));
        }
    }
    match begun_by.first() {
        Some((begin, _)) => bail!("the window begun at {begin} has no end in the trace"),
        None => bail!("the trace has no begin of a window"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: Pointer = Pointer(1);
    const OTHER: Pointer = Pointer(2);

    fn cutover(signs: &[(u64, Sign<Pointer>)]) -> Result<TrueWindow> {
        let signs: Vec<_> = signs.iter().map(|&(at, sign)| (BootNs(at), sign)).collect();
        let begins = [Sign::FailedIo, Sign::LogTakes(SOURCE)];
        find(&signs, BootNs(10), &begins, &[Sign::LogGives(OTHER)])
    }

    fn span(begin: u64, end: u64) -> Span {
        Span {
            begin: BootNs(begin),
            end: BootNs(end),
        }
    }

    #[test]
    fn a_window_begins_at_the_first_sign_since_the_moment_and_ends_at_the_first_after() {
        let window = cutover(&[
            (5, Sign::FailedIo),
            (11, Sign::LogGives(OTHER)),
            (12, Sign::FailedIo),
            (13, Sign::FailedIo),
            (15, Sign::LogTakes(SOURCE)),
            (16, Sign::LogTakes(OTHER)),
            (90, Sign::LogGives(SOURCE)),
            (91, Sign::LogGives(OTHER)),
            (99, Sign::LogGives(OTHER)),
        ])
        .unwrap();
        let expected = TrueWindow {
            span: span(12, 91),
            begun_by: vec![(BootNs(12), "ana-error"), (BootNs(15), "ana-log")],
            ended_by: "ana-log",
        };
        assert_eq!(window, expected);
    }

    #[test]
    fn a_window_without_an_end_and_one_without_a_begin_are_errors() {
        let unended = cutover(&[(12, Sign::FailedIo)]).unwrap_err();
        assert!(unended.to_string().contains("no end"), "{unended}");
        let unbegun = cutover(&[(91, Sign::LogGives(OTHER))]).unwrap_err();
        assert!(unbegun.to_string().contains("no begin"), "{unbegun}");
    }
}
