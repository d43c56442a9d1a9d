//! `pathwarden inspect`: what is wrong, worst first, why, and what would be done.

use serde::Serialize;

use super::render::{self, Style, Tone, printable};
use super::{Common, Exit, Format};
use crate::config::{self, Config};
use crate::diagnose::{
    self, AtRisk, Expectation, Fact, Finding, HostId, NamespaceId, Node, Past, Question, Severity,
    Subject, Verdict,
};
use crate::fabric::{Counts, Host, Nqn, Unchecked, View};
use crate::host::{clock, node, sysfs};

/// Flags of `inspect`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only this subsystem
    #[arg(value_name = "NQN")]
    nqn: Option<Nqn>,
    /// Only this namespace of it
    #[arg(long, value_name = "UUID|NSID", requires = "nqn")]
    namespace: Option<NamespaceId>,
    /// Who this host is, where several are connected
    #[arg(long, value_name = "NQN")]
    hostnqn: Option<Nqn>,
}

/// What was found.
#[derive(Debug, Serialize)]
struct Report {
    schema: &'static str,
    findings: Vec<Finding>,
    counts: Counts,
    unchecked: Vec<Unchecked>,
    #[serde(skip)]
    exit: Exit,
}

/// Prints what is wrong.
///
/// # Errors
/// When sysfs, the settings or the desired state cannot be read, or nothing can be written.
pub(super) fn run(args: &Args, common: &Common) -> anyhow::Result<Exit> {
    let config = config::load(common.config.as_deref(), std::env::vars())?;
    let desired = match &common.desired {
        Some(path) => Some(config::load_desired(path, config.desired)?),
        None => None,
    };
    let root = common.sys_root();
    let host = sysfs::scan(&root)?;
    let node = node::read(&root, named_host(args, &config));
    let expectation = Expectation {
        desired,
        profiles: config.profiles.clone(),
        question: args.nqn.clone().map(|nqn| Question {
            nqn,
            namespace: args.namespace,
            // Looking expects nothing; a request to act does.
            expects_service: false,
        }),
        now: clock::wall(),
    };
    let report = report(&host, &node, &expectation, &config);
    match common.output {
        Format::Json => super::print_json(&report)?,
        Format::Text => super::print(&report.text(Style::of_stdout()))?,
    }
    Ok(report.exit)
}

/// Who this host is, if the flag or the settings say so.
fn named_host(args: &Args, config: &Config) -> Option<HostId> {
    match &args.hostnqn {
        Some(nqn) => Some(HostId {
            nqn: nqn.clone(),
            id: None,
        }),
        None => config.host.nqn.clone().map(|nqn| HostId {
            nqn,
            id: config.host.id,
        }),
    }
}

fn report(host: &Host, node: &Node, expectation: &Expectation, config: &Config) -> Report {
    let policy = config.policy();
    // A one-shot look has seen nothing before.
    let past = Past::none();
    let findings = diagnose::diagnose(Subject {
        host,
        expectation,
        node,
        past: &past,
        policy: &policy,
    });
    let view = View::new(host);
    let mut unchecked = host.unchecked.clone();
    let (facts, matter) = unknown_facts(node);
    unchecked.extend(facts);
    let mut incomplete = !host.unchecked.is_empty() || matter;
    if let Some(question) = &expectation.question
        && !is_there(host, &question.nqn)
    {
        let reason = "no such subsystem on this host".to_owned();
        unchecked.push(Unchecked {
            object: question.nqn.to_string(),
            reason,
        });
        incomplete = true;
    }
    let found = if findings.is_empty() {
        Exit::Clean
    } else {
        Exit::Findings
    };
    Report {
        schema: "pathwarden/inspect/v1",
        counts: match &expectation.question {
            Some(question) => view.counts_of(&question.nqn),
            None => view.counts(),
        },
        findings,
        unchecked,
        exit: if incomplete { Exit::Unchecked } else { found },
    }
}

fn is_there(host: &Host, nqn: &Nqn) -> bool {
    host.subsystems.iter().any(|s| s.nqn.value() == Some(nqn))
        || host
            .controllers
            .iter()
            .any(|c| c.subsysnqn.value() == Some(nqn))
}

/// What the node could not say, and whether anything was lost by it: a tree from elsewhere has no node to ask.
fn unknown_facts(node: &Node) -> (Vec<Unchecked>, bool) {
    let mut facts = Vec::new();
    let mut matter = false;
    let mut note = |object: &str, fact: Option<&str>| {
        let reason = match fact {
            Some(reason) => {
                matter = true;
                reason.to_owned()
            }
            None => "only --sysfs was given: not known of this tree".to_owned(),
        };
        facts.push(Unchecked {
            object: object.to_owned(),
            reason,
        });
    };
    match &node.owners {
        Fact::Known(_) => {}
        Fact::Elsewhere => note("registry", None),
        Fact::Unreadable(reason) => note("registry", Some(reason)),
    }
    match &node.exclusions {
        Fact::Known(_) => {}
        Fact::Elsewhere => note("exclusions", None),
        Fact::Unreadable(reason) => note("exclusions", Some(reason)),
    }
    match &node.in_use {
        Fact::Known(_) => {}
        Fact::Elsewhere => note("mounts", None),
        Fact::Unreadable(reason) => note("mounts", Some(reason)),
    }
    if let Fact::Unreadable(reason) = &node.host {
        note("host identity", Some(reason));
    }
    (facts, matter)
}

impl Report {
    fn text(&self, style: Style) -> String {
        let mut text = String::new();
        for finding in &self.findings {
            finding_lines(&mut text, finding, style);
            text.push('\n');
        }
        text.push_str(&style.paint(Tone::Strong, &self.summary()));
        text.push('\n');
        render::unchecked_lines(&mut text, &self.unchecked, style);
        text
    }

    fn summary(&self) -> String {
        let of = |severity| {
            self.findings
                .iter()
                .filter(|f| f.severity() == severity)
                .count()
        };
        let counts = &self.counts;
        let findings = match self.findings.len() {
            0 => "no findings".to_owned(),
            n => {
                let by_severity: Vec<String> =
                    [Severity::Critical, Severity::Warning, Severity::Info]
                        .into_iter()
                        .filter(|severity| of(*severity) > 0)
                        .map(|severity| format!("{} {severity}", of(severity)))
                        .collect();
                format!(
                    "{} ({})",
                    render::counted(n, "finding"),
                    by_severity.join(", ")
                )
            }
        };
        format!(
            "{findings}: {}, {}, {} of {} usable, {} parked, {}",
            render::counted(counts.subsystems, "subsystem"),
            render::counted(counts.controllers, "controller"),
            counts.usable_legs,
            render::counted(counts.legs, "leg"),
            counts.parked,
            render::counted(counts.husks, "husk"),
        )
    }
}

/// A finding as lines.
pub(super) fn finding_lines(text: &mut String, finding: &Finding, style: Style) {
    let tone = match finding.severity() {
        Severity::Critical => Tone::Bad,
        Severity::Warning => Tone::Doubtful,
        Severity::Info => Tone::Plain,
    };
    let heading = format!("{} {}", finding.severity(), finding.kind);
    let mut place = Vec::new();
    place.extend(
        finding
            .identity
            .endpoint
            .as_ref()
            .map(|e| printable(&e.to_string())),
    );
    if let Some(controller) = finding.controller {
        place.push(format!("({controller})"));
    }
    text.push_str(
        &format!("{}  {}\n", style.paint(tone, &heading), place.join(" ")).replace("  \n", "\n"),
    );
    let mut line = |label: &str, value: &str| {
        let label = format!("{label:<10}");
        text.push_str(&format!(
            "  {}{}\n",
            style.paint(Tone::Faint, &label),
            printable(value)
        ));
    };
    if let Some(nqn) = &finding.identity.subsysnqn {
        line("subsystem", nqn.as_str());
    }
    if finding.controllers.len() > 1 {
        let names: Vec<String> = finding
            .controllers
            .iter()
            .map(ToString::to_string)
            .collect();
        line("of", &names.join(", "));
    }
    for (at, evidence) in finding.evidence.iter().enumerate() {
        line(if at == 0 { "because" } else { "" }, evidence);
    }
    for (at, risk) in finding.at_risk.iter().enumerate() {
        line(if at == 0 { "at risk" } else { "" }, &risk_text(risk));
    }
    line("verdict", &verdict_text(finding.verdict));
}

fn risk_text(risk: &AtRisk) -> String {
    match (risk.nsid, risk.uuid) {
        (Some(nsid), Some(uuid)) => format!("namespace {nsid} ({uuid})"),
        (Some(nsid), None) => format!("namespace {nsid}"),
        (None, Some(uuid)) => format!("namespace {uuid}"),
        (None, None) => "a namespace whose number could not be read".to_owned(),
    }
}

fn verdict_text(verdict: Verdict) -> String {
    match verdict {
        Verdict::Propose(action) => format!("{action} proposed"),
        Verdict::Refuse {
            action: Some(action),
            reason,
        } => {
            format!("no {action}, {reason}: {}", reason.explanation())
        }
        Verdict::Refuse {
            action: None,
            reason,
        } => {
            format!("nothing is removed, {reason}: {}", reason.explanation())
        }
        Verdict::ReportOnly => "reported only".to_owned(),
    }
}
