//! The whole pipeline over a trace: what the agent would have measured and found.

use std::{io::BufRead, time::Duration};

use serde::Serialize;

use crate::{
    config::Config,
    diagnose::{
        self, Desired, DesiredSubsystem, Expectation, Fact, Finding, HostId, Node, Past, Subject,
        Verdict,
    },
    event::trace::{Reader, TraceError},
    fabric::{Identity, Unchecked},
    watch::{Change, DoubleOptimized, Freeze, Merged, Watch, Window, merged},
};

/// What a trace comes to.
#[derive(Debug, Serialize)]
pub struct Replayed {
    schema: &'static str,
    /// How many events it has.
    pub events: u64,
    /// Every window, open ones included, by their beginning.
    pub windows: Vec<Window>,
    /// The windows of each subsystem taken together.
    pub subsystems: Vec<Merged>,
    /// Windows that an application feels as one.
    pub freezes: Vec<Freeze>,
    /// Spans in which source and target of a migration both served.
    pub double_optimized: Vec<DoubleOptimized>,
    /// How often a look disagreed with what the events had told.
    pub drifts: u64,
    /// What was wrong at its end.
    pub findings: Vec<Finding>,
    /// What would have been done.
    pub plan: Vec<Step>,
    /// What would not, and why.
    pub refused: Vec<Refused>,
    /// What could not be understood.
    pub unchecked: Vec<Unchecked>,
}

/// An action that would be taken.
#[derive(Debug, Serialize)]
pub struct Step {
    action: diagnose::Action,
    identity: Identity,
    controller: Option<crate::fabric::ControllerName>,
    cntlid: Option<crate::fabric::Cntlid>,
    why: diagnose::Kind,
}

/// One that would not.
#[derive(Debug, Serialize)]
pub struct Refused {
    action: Option<diagnose::Action>,
    identity: Identity,
    reason: diagnose::Reason,
    detail: diagnose::Kind,
}

/// Folds a trace and judges the host at its end.
pub fn replay<R: BufRead>(
    trace: &mut Reader<R>,
    config: &Config,
    host: Option<HostId>,
    desired: Option<Desired>,
) -> Result<Replayed, TraceError> {
    let boot_id = trace.header().boot_id.clone().unwrap_or_default();
    let mut watch = Watch::new(boot_id, config.bounds());
    let mut told = Told::default();
    let mut events = 0;
    while let Some(envelope) = trace.next_event()? {
        events += 1;
        watch
            .apply(&envelope)
            .into_iter()
            .for_each(|it| told.take(it));
    }
    watch.end().into_iter().for_each(|it| told.take(it));
    told.windows.extend(watch.open().cloned());
    told.windows
        .sort_by(|a, b| (a.begin_ns, &a.id).cmp(&(b.begin_ns, &b.id)));
    let mut model = watch.host();
    model.kernel = model.kernel.or(trace.header().kernel.clone());
    model.boot_id = model.boot_id.or(trace.header().boot_id.clone());
    model.multipath = model.multipath.or(trace.header().multipath);
    let expectation = Expectation {
        desired: desired.or_else(|| desired_of(&watch)),
        profiles: config.profiles.clone(),
        ..Expectation::none(watch.wall().unwrap_or(crate::fabric::UnixNs(0)))
    };
    let findings = diagnose::diagnose(Subject {
        host: &model,
        expectation: &expectation,
        node: &elsewhere(host),
        past: &Past::from_watch(&watch),
        policy: &config.policy(),
    });
    let mut unchecked = model.unchecked;
    let passed_over = trace.passed_over().iter();
    unchecked.extend(passed_over.map(|(line, reason)| Unchecked {
        object: format!("line {line}"),
        reason: reason.clone(),
    }));
    let (plan, refused) = plan(&findings);
    Ok(Replayed {
        schema: "pathwarden/replay/v1",
        events,
        subsystems: merged(&told.windows),
        windows: told.windows,
        freezes: told.freezes,
        double_optimized: told.doubles,
        drifts: told.drifts,
        findings,
        plan,
        refused,
        unchecked,
    })
}

#[derive(Default)]
struct Told {
    windows: Vec<Window>,
    freezes: Vec<Freeze>,
    doubles: Vec<DoubleOptimized>,
    drifts: u64,
}

impl Told {
    fn take(&mut self, change: Change) {
        match change {
            // An open one is taken at the end, as it is then.
            Change::Opened(_) | Change::Worsened(_) => {}
            Change::Closed(window) => self.windows.push(window),
            Change::Amended(window) => {
                let known = self.windows.iter_mut().rev().find(|it| it.id == window.id);
                if let Some(known) = known {
                    *known = window;
                }
            }
            Change::Froze(freeze) => self.freezes.push(freeze),
            Change::DoubleOptimized(double) => {
                let same = |it: &DoubleOptimized| {
                    (&it.nqn, it.nsid, it.begin_ns) == (&double.nqn, double.nsid, double.begin_ns)
                };
                self.doubles.retain(|it| !same(it));
                self.doubles.push(double);
            }
            Change::Drifted(_) => self.drifts += 1,
        }
    }
}

/// What the trace itself says is wanted. Of several documents the oldest age and the shortest life hold.
fn desired_of(watch: &Watch) -> Option<Desired> {
    let fetched_at = watch.desired().map(|(_, it)| it.fetched_at).min()?;
    let max_age = watch.desired().map(|(_, it)| it.max_age).min();
    let subsystems = watch.desired().map(|(nqn, it)| {
        let subsystem = DesiredSubsystem {
            published: it.published.clone(),
            superseded: it.superseded.clone(),
            namespaces: None,
        };
        (nqn.clone(), subsystem)
    });
    Some(Desired {
        fetched_at,
        max_age: max_age.unwrap_or(Duration::ZERO),
        subsystems: subsystems.collect(),
    })
}

/// A trace has no node to ask.
fn elsewhere(host: Option<HostId>) -> Node {
    Node {
        host: host.map_or(Fact::Elsewhere, Fact::Known),
        ..Node::elsewhere()
    }
}

/// What follows from the findings, in their order.
fn plan(findings: &[Finding]) -> (Vec<Step>, Vec<Refused>) {
    let (mut plan, mut refused) = (Vec::new(), Vec::new());
    for finding in findings {
        let identity = finding.identity.clone();
        match finding.verdict {
            Verdict::Propose(action) => plan.push(Step {
                action,
                identity,
                controller: finding.controller,
                cntlid: finding.cntlid,
                why: finding.kind,
            }),
            Verdict::Refuse { action, reason } => refused.push(Refused {
                action,
                identity,
                reason,
                detail: finding.kind,
            }),
            Verdict::ReportOnly => {}
        }
    }
    (plan, refused)
}
