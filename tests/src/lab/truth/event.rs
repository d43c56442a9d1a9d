//! The trace's lines as typed events.

use std::collections::HashMap;
use std::fmt;

use anyhow::{Context as _, Result, bail, ensure};

use crate::lab::clock::BootNs;

/// Address of a kernel object: only ever compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Pointer(pub(super) u64);

impl fmt::Display for Pointer {
    /// Its last digits tell it apart.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06x}", self.0 & 0xff_ffff)
    }
}

/// `enum nvme_ctrl_state` (drivers/nvme/host/nvme.h, the same in 6.1, 6.12 and 7.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    New,
    Live,
    Resetting,
    Connecting,
    Deleting,
    DeletingNoIo,
    Dead,
}

impl State {
    fn from_kernel(number: u64) -> Result<Self> {
        Ok(match number {
            0 => Self::New,
            1 => Self::Live,
            2 => Self::Resetting,
            3 => Self::Connecting,
            4 => Self::Deleting,
            5 => Self::DeletingNoIo,
            6 => Self::Dead,
            _ => bail!("controller state {number} is none of the kernel's"),
        })
    }

    /// Whether `nvme_change_ctrl_state` goes from this state to `new`; it is called far more often than it does.
    pub(super) fn goes_to(self, new: Self) -> bool {
        use State::{Connecting, Dead, Deleting, DeletingNoIo, Live, New, Resetting};
        matches!(
            (self, new),
            (Connecting, Live)
                | (New | Live, Resetting)
                | (New | Resetting, Connecting)
                | (Live | Resetting | Connecting, Deleting)
                | (Deleting | Dead, DeletingNoIo)
                | (Deleting, Dead)
        )
    }
}

/// Asymmetric namespace access as the log page has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WireAna(pub(super) u8);

impl WireAna {
    /// Optimized or non-optimized.
    pub(super) fn is_accessible(self) -> bool {
        matches!(self.0, 1 | 2)
    }
}

/// A traced call, at its entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    /// When.
    pub(super) at: BootNs,
    /// By which thread.
    pub(super) thread: u32,
    /// Which, with what.
    pub(super) call: Call,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.at)?;
        match self.call {
            Call::State { controller, new } => write!(f, "state {controller} {new:?}"),
            Call::Kick { controller } => write!(f, "kick {controller}"),
            Call::Ana {
                controller,
                group,
                nsids,
                state: WireAna(state),
            } => {
                write!(f, "ana {controller} group {group} of {nsids}: {state}")
            }
            Call::SetLive { leg } => write!(f, "set_live {leg}"),
            Call::Add { leg } => write!(f, "add {leg}"),
            Call::Remove { leg } => write!(f, "remove {leg}"),
            Call::Failover => f.write_str("failover"),
            Call::Connect { controller } => write!(f, "connect {controller}"),
            Call::Uninit { controller } => write!(f, "uninit {controller}"),
        }
    }
}

/// The functions traced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// `nvme_change_ctrl_state`: a wish, not yet a change.
    State { controller: Pointer, new: State },
    /// `nvme_kick_requeue_lists`: the controller is live, or its fast-fail time is over.
    Kick { controller: Pointer },
    /// `nvme_update_ana_state`: one group of a controller's ANA log.
    Ana {
        controller: Pointer,
        group: u32,
        nsids: u32,
        state: WireAna,
    },
    /// `nvme_mpath_set_live`: a leg is accessible and its controller live.
    SetLive { leg: Pointer },
    /// `nvme_mpath_add_disk`: a leg is being added; it may be set live on the way.
    Add { leg: Pointer },
    /// `nvme_ns_remove`: a leg is being removed.
    Remove { leg: Pointer },
    /// `nvme_failover_req`: a failed request goes back to the head.
    Failover,
    /// `nvmf_connect_admin_queue`: a controller connects.
    Connect { controller: Pointer },
    /// `nvme_uninit_ctrl`: a controller is gone, its address free for another.
    Uninit { controller: Pointer },
}

/// Reads a whole `trace` file, in time order.
pub(super) fn parse(trace: &str) -> Result<Vec<Event>> {
    let mut events = Vec::new();
    for line in trace
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        events.push(parse_line(line).with_context(|| format!("trace line {line:?}"))?);
    }
    events.sort_by_key(|event: &Event| event.at);
    Ok(events)
}

/// `task-pid [cpu] flags seconds: event: (function+0x0/0x…) key=value …`; the task's name may hold anything.
fn parse_line(line: &str) -> Result<Event> {
    let (_, call) = line.rsplit_once(": (").context("no function")?;
    let head = line[..line.len() - call.len()].trim_end_matches(": (");
    let (before, name) = head.rsplit_once(": ").context("no event name")?;
    let mut words = before.split_whitespace().rev();
    let time = words.next().context("no time")?;
    // The flags, the CPU, and the end of the task's name with its number.
    let task = words.nth(2).context("no task")?;
    let (_, thread) = task.rsplit_once('-').context("no thread")?;
    let (_, arguments) = call.split_once(')').context("no end of the function")?;
    let arguments = Arguments::read(arguments)?;
    let call = match name {
        "state" => Call::State {
            controller: arguments.pointer("controller")?,
            new: State::from_kernel(arguments.number("new")?)?,
        },
        "kick" => Call::Kick {
            controller: arguments.pointer("controller")?,
        },
        "ana" => Call::Ana {
            controller: arguments.pointer("controller")?,
            group: u32::try_from(arguments.number("group")?)?,
            nsids: u32::try_from(arguments.number("nsids")?)?,
            state: WireAna(u8::try_from(arguments.number("state")?)?),
        },
        "set_live" => Call::SetLive {
            leg: arguments.pointer("leg")?,
        },
        "add" => Call::Add {
            leg: arguments.pointer("leg")?,
        },
        "remove" => Call::Remove {
            leg: arguments.pointer("leg")?,
        },
        "failover" => Call::Failover,
        "connect" => Call::Connect {
            controller: arguments.pointer("controller")?,
        },
        "uninit" => Call::Uninit {
            controller: arguments.pointer("controller")?,
        },
        _ => bail!("event {name:?} is not ours"),
    };
    Ok(Event {
        at: moment(time)?,
        thread: thread
            .parse()
            .with_context(|| format!("thread {thread:?}"))?,
        call,
    })
}

/// `28.950612`, which is seconds and microseconds on a clock that counts nanoseconds.
fn moment(text: &str) -> Result<BootNs> {
    let (seconds, micros) = text.split_once('.').context("no point in the time")?;
    ensure!(micros.len() == 6, "time {text:?} is not in microseconds");
    let seconds: u64 = seconds.parse().with_context(|| format!("time {text:?}"))?;
    let micros: u64 = micros.parse().with_context(|| format!("time {text:?}"))?;
    Ok(BootNs(seconds * 1_000_000_000 + micros * 1_000))
}

/// The `key=value` part of a line.
struct Arguments<'l>(HashMap<&'l str, u64>);

impl<'l> Arguments<'l> {
    fn read(text: &'l str) -> Result<Self> {
        let mut arguments = HashMap::new();
        for word in text.split_whitespace() {
            let (key, value) = word
                .split_once('=')
                .with_context(|| format!("word {word:?}"))?;
            let number = match value.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16),
                None => value.parse(),
            };
            arguments.insert(key, number.with_context(|| format!("word {word:?}"))?);
        }
        Ok(Self(arguments))
    }

    fn number(&self, key: &str) -> Result<u64> {
        self.0
            .get(key)
            .copied()
            .with_context(|| format!("no {key}"))
    }

    fn pointer(&self, key: &str) -> Result<Pointer> {
        Ok(Pointer(self.number(key)?))
    }
}

/// Events that a `per_cpu/cpuN/stats` file says were overwritten or dropped.
pub(super) fn lost(stats: &str) -> u64 {
    let counts = stats.lines().filter_map(|line| line.split_once(':'));
    counts
        .filter(|(what, _)| matches!(*what, "overrun" | "commit overrun" | "dropped events"))
        .filter_map(|(_, count)| count.trim().parse::<u64>().ok())
        .sum()
}

/// The first of `events` that tracefs' `kprobe_profile` (name, hits, misses) says was not always recorded.
pub(super) fn missed<const N: usize>(profile: &str, events: [&str; N]) -> Option<String> {
    profile
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?, words.nth(1)?))
        })
        .find(|(name, misses)| events.contains(name) && *misses != "0")
        .map(|(name, misses)| format!("{name} {misses} times"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "\
# tracer: nop
#
# entries-in-buffer/entries-written: 5/5   #P:2
#
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
          <idle>-0       [001] d.s2.    28.950612: failover: (nvme_failover_req+0x0/0x190 [nvme_core]) request=0xffff8f3c41d20000
     kworker/0:1-12      [000] .....    28.961043: ana: (nvme_update_ana_state+0x0/0x120 [nvme_core]) controller=0xffff8f3c41c08268 group=1 nsids=1 state=3
 odd: (name) =x-77       [000] d..1.    30.000001: state: (nvme_change_ctrl_state+0x0/0x1d0 [nvme_core]) controller=0xffff8f3c41c08268 new=2
     kworker/0:1-12      [000] .....    31.005100: set_live: (nvme_mpath_set_live+0x0/0x140 [nvme_core]) leg=0xffff8f3c42b1a000
   kworker/u4:1-31      [001] .....    29.000000: kick: (nvme_kick_requeue_lists+0x0/0xa0 [nvme_core]) controller=0x10
";

    #[test]
    fn lines_become_events_in_time_order() {
        let events = parse(TRACE).unwrap();
        let at = |micros: u64| BootNs(micros * 1_000);
        let controller = Pointer(0xffff_8f3c_41c0_8268);
        let ana = Call::Ana {
            controller,
            group: 1,
            nsids: 1,
            state: WireAna(3),
        };
        let state = Call::State {
            controller,
            new: State::Resetting,
        };
        let kick = Call::Kick {
            controller: Pointer(16),
        };
        let set_live = Call::SetLive {
            leg: Pointer(0xffff_8f3c_42b1_a000),
        };
        let expected = [
            (28_950_612, 0, Call::Failover),
            (28_961_043, 12, ana),
            (29_000_000, 31, kick),
            (30_000_001, 77, state),
            (31_005_100, 12, set_live),
        ];
        let event = |(time, thread, call)| Event {
            at: at(time),
            thread,
            call,
        };
        let expected: Vec<_> = expected.into_iter().map(event).collect();
        assert_eq!(events, expected);
    }

    #[test]
    fn a_line_that_says_events_were_lost_is_an_error() {
        let error = format!("{:#}", parse("CPU:1 [LOST 12 EVENTS]\n").unwrap_err());
        assert!(error.contains("LOST 12 EVENTS"), "{error}");
    }

    #[test]
    fn an_event_of_somebody_else_is_an_error() {
        let line = "a-1 [000] ..... 1.000000: other: (f+0x0/0x1) x=1\n";
        assert!(format!("{:#}", parse(line).unwrap_err()).contains("other"));
    }

    #[test]
    fn overwritten_and_dropped_events_count_as_lost() {
        let stats = "entries: 10\noverrun: 3\ncommit overrun: 0\nbytes: 552\ndropped events: 1\n";
        assert_eq!(lost(stats), 4);
    }

    #[test]
    fn a_call_that_a_probe_missed_is_named() {
        let profile = "  state      12      0\n  ana       3      2\n  other  1  9\n";
        assert_eq!(missed(profile, ["state", "ana"]).unwrap(), "ana 2 times");
        assert_eq!(missed(profile, ["state"]), None);
    }

    #[test]
    fn a_resetting_controller_does_not_reset_again() {
        assert!(State::Live.goes_to(State::Resetting));
        assert!(!State::Resetting.goes_to(State::Resetting));
        assert!(!State::DeletingNoIo.goes_to(State::Resetting));
    }
}
