//! Events from two looks at sysfs: what runs where there are no probes.
//!
//! A change lies somewhere between the looks, so every event carries that span as its error. What one look could not
//! read is taken to be as it was. ANA-pending is not to be seen here.

use crate::{
    event::{ControllerId, ControllerSeen, Envelope, Event, HeadSeen, LegSeen, Look, Source},
    fabric::{AnaGroup, AnaState, BootNs, ControllerState, Host, Nsid},
};

/// Compares each look with the one before.
#[derive(Debug, Default)]
pub struct Differences {
    last: Option<(BootNs, Look)>,
}

impl Differences {
    /// Events since the last look; the first one is a snapshot. `begun` is when this look began: what it saw was so
    /// some time after the look before had begun. `source` is what it was begun for.
    pub fn look(&mut self, host: Host, begun: BootNs, source: Source) -> Vec<Envelope> {
        let mut now = Look::of(&host);
        let envelope = |event, error_ns| Envelope {
            time: begun,
            error_ns,
            source,
            event,
        };
        let Some((before_begun, before)) = self.last.take() else {
            self.last = Some((begun, now));
            return vec![envelope(
                Event::Snapshot {
                    host: Box::new(host),
                    began: None,
                },
                0,
            )];
        };
        now.keep_unread(&before);
        let span = begun.saturating_since(before_begun);
        let error_ns = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let events = differences(&before, &now);
        self.last = Some((begun, now));
        events
            .into_iter()
            .map(|event| envelope(event, error_ns))
            .collect()
    }
}

/// Gains first: a namespace that changes hands between two looks has no window that was seen.
fn differences(before: &Look, now: &Look) -> Vec<Event> {
    let (mut gains, mut losses) = (Vec::new(), Vec::new());
    for (id, controller) in &now.controllers {
        match before.controllers.get(id) {
            None => gains.push(controller_added(*id, controller)),
            Some(old) if old.state != controller.state => {
                let (old, new) = (old.state, controller.state);
                let live = new == ControllerState::Live;
                let list = if live { &mut gains } else { &mut losses };
                list.push(Event::ControllerState {
                    controller: *id,
                    old,
                    new,
                });
            }
            Some(_) => {}
        }
    }
    for ((id, nsid), leg) in &now.legs {
        match before.legs.get(&(*id, *nsid)) {
            None => gains.push(leg_added(*id, *nsid, leg)),
            Some(old) if old.state == leg.state && old.group == leg.group => {}
            Some(old) => {
                let event = leg_changed(*id, *nsid, old, leg);
                let accessible = leg.state.ana.is_none_or(AnaState::accessible);
                if accessible && leg.state.ready {
                    gains.push(event);
                } else {
                    losses.push(event);
                }
            }
        }
    }
    for (id, nsid) in before.legs.keys().filter(|leg| !now.legs.contains_key(leg)) {
        losses.push(Event::LegRemoved {
            controller: *id,
            nsid: *nsid,
        });
    }
    for id in before
        .controllers
        .keys()
        .filter(|id| !now.controllers.contains_key(id))
    {
        losses.push(Event::ControllerRemoved { controller: *id });
    }
    let has = |look: &Look, head: &HeadSeen| look.heads.iter().any(|it| it.names_same(head));
    for head in now.heads.iter().filter(|head| !has(before, head)) {
        let namespace = head.namespace();
        gains.push(Event::HeadAdded { namespace });
    }
    for head in before.heads.iter().filter(|head| !has(now, head)) {
        let namespace = head.namespace();
        losses.push(Event::HeadRemoved {
            namespace,
            held: None,
        });
    }
    gains.append(&mut losses);
    gains
}

fn controller_added(controller: ControllerId, seen: &ControllerSeen) -> Event {
    let ControllerSeen {
        nqn,
        endpoint,
        hostnqn,
        cntlid,
        state,
    } = seen.clone();
    Event::ControllerAdded {
        controller,
        nqn,
        endpoint,
        hostnqn,
        cntlid,
        state,
        interface: None,
    }
}

fn leg_added(controller: ControllerId, nsid: Nsid, seen: &LegSeen) -> Event {
    let LegSeen {
        uuid,
        name,
        group,
        state,
        ..
    } = *seen;
    Event::LegAdded {
        controller,
        nsid,
        nqn: None,
        uuid,
        name: Some(name),
        group,
        state,
    }
}

/// A new ANA state is told as the log's word, so that a window's cause says so.
fn leg_changed(controller: ControllerId, nsid: Nsid, old: &LegSeen, new: &LegSeen) -> Event {
    match new.state.ana {
        Some(state) if old.state.ready == new.state.ready => Event::Ana {
            controller,
            group: new.group.unwrap_or(AnaGroup(0)),
            state,
            nsids: vec![nsid],
            more: false,
        },
        _ => Event::LegWords {
            controller,
            nsid,
            state: new.state,
        },
    }
}
