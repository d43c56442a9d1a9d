//! What a port does instead of what it should: a list of rules, plain data.
//!
//! A rule says on which occasion it applies, how often, and what is done. The first rule that applies decides; where none
//! does, the port behaves. A script is exchanged while the target runs ([`super::Port::behave`]); what an
//! earlier script withheld is then looked at again, so that lifting the fault lets the answers go.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ids::{Cntlid, Nsid};
use super::status::Status;

/// A port's script. The default is a healthy port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Behaviour {
    /// Looked at in order; the first that applies decides.
    pub rules: Vec<Rule>,
    /// By subsystem NQN: every controller that is created gets this number, whoever else has it. Without an entry it is
    /// the lowest that is free in the subsystem.
    pub repeated_cntlid: BTreeMap<String, Cntlid>,
    /// How I/O on a namespace that the port does not serve is answered. The kernel's target answers so too, and
    /// without "do not retry": a host that does not know yet tries its other paths.
    pub absent_namespace: Status,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            repeated_cntlid: BTreeMap::new(),
            absent_namespace: Status::INTERNAL_PATH_ERROR,
        }
    }
}

impl From<Rule> for Behaviour {
    fn from(rule: Rule) -> Self {
        Self {
            rules: vec![rule],
            ..Self::default()
        }
    }
}

impl From<Vec<Rule>> for Behaviour {
    fn from(rules: Vec<Rule>) -> Self {
        Self {
            rules,
            ..Self::default()
        }
    }
}

/// On an occasion, an act.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The kind of occasion.
    pub on: On,
    /// Only for this subsystem; what comes before a Connect is of none.
    #[serde(default)]
    pub subsystem: Option<String>,
    /// Only for commands that name this namespace.
    #[serde(default)]
    pub namespace: Option<Nsid>,
    /// Lets this many occasions pass first.
    #[serde(default)]
    pub skip: u32,
    /// Applies this many times; without it, until the script is exchanged.
    #[serde(default)]
    pub times: Option<u32>,
    /// What is done.
    pub act: Act,
}

impl Rule {
    /// A rule for every such occasion until told otherwise.
    pub fn new(on: On, act: Act) -> Self {
        Self {
            on,
            subsystem: None,
            namespace: None,
            skip: 0,
            times: None,
            act,
        }
    }

    /// Accepts the connection and never answers, not even the handshake.
    pub fn silent() -> Self {
        Self::new(On::Everything, Act::Withhold)
    }

    /// Rejects the Connect that creates a controller.
    pub fn reject(status: Status) -> Self {
        Self::new(On::AdminConnect, Act::Fail(status))
    }

    /// Drops the association once the host has got as far as `on`, that being answered.
    pub fn drop_after(on: On, after: Duration) -> Self {
        Self::new(on, Act::AnswerThenDrop(after))
    }

    /// The same, a number of times.
    pub fn times(self, times: u32) -> Self {
        Self {
            times: Some(times),
            ..self
        }
    }

    /// The same, but not for the first few.
    pub fn after(self, skip: u32) -> Self {
        Self { skip, ..self }
    }

    /// The same for one namespace only.
    pub fn for_namespace(self, nsid: Nsid) -> Self {
        Self {
            namespace: Some(nsid),
            ..self
        }
    }

    /// The same for one subsystem only.
    pub fn for_subsystem(self, nqn: &str) -> Self {
        Self {
            subsystem: Some(nqn.to_owned()),
            ..self
        }
    }

    fn covers(&self, occasion: &Occasion<'_>) -> bool {
        self.on.covers(occasion.moment)
            && self
                .subsystem
                .as_deref()
                .is_none_or(|nqn| occasion.subsystem == Some(nqn))
            && self
                .namespace
                .is_none_or(|nsid| occasion.namespace == Some(nsid))
    }

    /// Counts an occasion that it covers; whether the rule applies to it.
    fn count(&mut self) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        match &mut self.times {
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
            None => true,
        }
    }
}

/// What is done on an occasion.
///
/// The script is asked once for each request, when it comes. A write whose data is asked for by R2T is one request: what
/// holds back holds back the R2T, and a script that comes while its data is under way finds it answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Act {
    /// What a healthy target does: exempts from the rules that follow.
    Answer,
    /// The answer comes this much later; others are not held up.
    Delay(#[serde(with = "milliseconds")] Duration),
    /// No answer, until a script without this comes.
    Withhold,
    /// Nothing is done, and the answer is this status. The handshake has none: it is dropped.
    Fail(Status),
    /// Instead of an answer, the association's connections are closed.
    Drop,
    /// The answer; then, this much later, the association's connections are closed.
    AnswerThenDrop(#[serde(with = "milliseconds")] Duration),
}

/// Kinds of occasions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum On {
    /// Anything that wants an answer.
    Everything,
    /// The transport's own handshake, ICReq.
    Handshake,
    /// Connect of any queue.
    Connect,
    /// Connect of the admin queue: a controller is created.
    AdminConnect,
    /// Connect of an I/O queue.
    IoConnect,
    /// Property get or set.
    Property,
    /// Identify.
    Identify,
    /// Get or set features, [`On::Live`] included.
    Features,
    /// The host takes the controller live: right after that Linux switches on asynchronous events
    /// (set features 0bh, 6.12 `nvme_start_ctrl`), at the first connect and at every reconnect.
    Live,
    /// Reading the ANA log.
    AnaLog,
    /// Reading any log, the ANA log included.
    Log,
    /// The answer to an asynchronous event request, when there is an event to tell.
    AsyncEvent,
    /// Keep alive.
    KeepAlive,
    /// Any command on an I/O queue but Connect.
    Io,
    /// Read.
    Read,
    /// Write, write zeroes.
    Write,
    /// Flush.
    Flush,
}

impl On {
    fn covers(self, moment: Moment) -> bool {
        use Moment as M;
        match self {
            Self::Everything => true,
            Self::Handshake => moment == M::Handshake,
            Self::Connect => matches!(moment, M::AdminConnect | M::IoConnect),
            Self::AdminConnect => moment == M::AdminConnect,
            Self::IoConnect => moment == M::IoConnect,
            Self::Property => moment == M::Property,
            Self::Identify => moment == M::Identify,
            Self::Features => matches!(moment, M::Features | M::Live),
            Self::Live => moment == M::Live,
            Self::AnaLog => moment == M::AnaLog,
            Self::Log => matches!(moment, M::Log | M::AnaLog),
            Self::AsyncEvent => moment == M::AsyncEvent,
            Self::KeepAlive => moment == M::KeepAlive,
            Self::Io => matches!(moment, M::Read | M::Write | M::Flush | M::OtherIo),
            Self::Read => moment == M::Read,
            Self::Write => moment == M::Write,
            Self::Flush => moment == M::Flush,
        }
    }
}

/// Every request of a host is exactly one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    Handshake,
    AdminConnect,
    IoConnect,
    Property,
    Identify,
    Features,
    Live,
    AnaLog,
    Log,
    AsyncEvent,
    KeepAlive,
    OtherAdmin,
    Read,
    Write,
    Flush,
    OtherIo,
}

/// A request, as far as rules look at it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Occasion<'c> {
    pub(crate) moment: Moment,
    pub(crate) subsystem: Option<&'c str>,
    pub(crate) namespace: Option<Nsid>,
}

impl Behaviour {
    /// What is to be done on this occasion; counts it.
    pub(crate) fn decide(&mut self, occasion: &Occasion<'_>) -> Act {
        let deciding = self
            .rules
            .iter_mut()
            .filter(|rule| rule.covers(occasion))
            .find_map(|rule| {
                let applies = rule.count();
                applies.then_some(rule.act)
            });
        deciding.unwrap_or(Act::Answer)
    }
}

/// Durations in scripts are whole milliseconds.
mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(length: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(length.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occasion(moment: Moment) -> Occasion<'static> {
        Occasion {
            moment,
            subsystem: Some("nqn.a"),
            namespace: Some(Nsid(1)),
        }
    }

    const REJECT: Act = Act::Fail(Status::CONNECT_INVALID_PARAMETERS);

    #[test]
    fn a_rule_lets_some_pass_then_applies_so_often_and_no_more() {
        let rule = Rule::new(On::Connect, REJECT).after(1).times(2);
        let mut script = Behaviour::from(rule);
        let acts: Vec<_> = (0..4)
            .map(|_| script.decide(&occasion(Moment::AdminConnect)))
            .collect();
        assert_eq!(acts, [Act::Answer, REJECT, REJECT, Act::Answer]);
    }

    #[test]
    fn the_first_rule_that_applies_decides() {
        let keep_alive = Rule::new(On::KeepAlive, Act::Answer);
        let mut script = Behaviour::from(vec![keep_alive, Rule::silent()]);
        assert_eq!(script.decide(&occasion(Moment::KeepAlive)), Act::Answer);
        assert_eq!(script.decide(&occasion(Moment::Read)), Act::Withhold);
    }

    #[test]
    fn a_spent_rule_gives_way_to_the_next() {
        let mut script = Behaviour::from(vec![
            Rule::new(On::Io, Act::Fail(Status::ANA_INACCESSIBLE)).times(1),
            Rule::new(On::Read, Act::Withhold),
        ]);
        let decided = script.decide(&occasion(Moment::Read));
        assert_eq!(decided, Act::Fail(Status::ANA_INACCESSIBLE));
        assert_eq!(script.decide(&occasion(Moment::Read)), Act::Withhold);
        assert_eq!(script.decide(&occasion(Moment::Write)), Act::Answer);
    }

    #[test]
    fn a_rule_for_one_namespace_or_subsystem_leaves_the_others_alone() {
        let mut script = Behaviour::from(vec![
            Rule::new(On::Io, Act::Drop).for_namespace(Nsid(2)),
            Rule::new(On::Io, Act::Withhold).for_subsystem("nqn.b"),
        ]);
        assert_eq!(script.decide(&occasion(Moment::Write)), Act::Answer);
        let other = Occasion {
            namespace: Some(Nsid(2)),
            ..occasion(Moment::Write)
        };
        assert_eq!(script.decide(&other), Act::Drop);
        let other = Occasion {
            subsystem: Some("nqn.b"),
            ..occasion(Moment::Write)
        };
        assert_eq!(script.decide(&other), Act::Withhold);
    }

    #[test]
    fn a_script_reads_as_it_is_meant() {
        let script = r#"{"rules": [
            {"on": "admin-connect", "times": 3, "act": {"fail": 16770}},
            {"on": "ana-log", "act": {"delay": 1500}},
            {"on": "io", "namespace": 2, "act": "withhold"}],
            "repeated_cntlid": {"nqn.a": 7}}"#;
        let script: Behaviour = serde_json::from_str(script).unwrap();
        let rejected = Status::CONNECT_INVALID_PARAMETERS.do_not_retry();
        assert_eq!(script.rules[0], Rule::reject(rejected).times(3));
        assert_eq!(script.rules[1].act, Act::Delay(Duration::from_millis(1500)));
        assert_eq!(script.rules[2].namespace, Some(Nsid(2)));
        let again = serde_json::to_string(&script).unwrap();
        assert_eq!(serde_json::from_str::<Behaviour>(&again).unwrap(), script);
    }
}
