//! Commands of the admin queue.

use std::sync::Arc;

use super::verb::ADMIN;
use super::{Answer, Command, Outcome, features};
use crate::target::ids::Nsid;
use crate::target::limits::TRANSFER;
use crate::target::pages::{self, IDENTIFY, ana_log, logs};
use crate::target::queue::{Connection, Queue};
use crate::target::status::Status;
use crate::target::sync::lock;
use crate::target::wire::Entry;

/// Do Not Retry is part of every refusal here: asking again would not help.
const INVALID_FIELD: Status = Status::INVALID_FIELD.do_not_retry();

pub(super) fn execute(connection: &Arc<Connection>, queue: &Queue, command: &Command) -> Outcome {
    let entry = &command.entry;
    if !lock(&queue.controller.registers).is_enabled() {
        return Outcome::Answer(Answer::fail(Status::SEQUENCE.do_not_retry()));
    }
    Outcome::Answer(match entry.opcode() {
        ADMIN::IDENTIFY => identify(connection, queue, entry).map(Answer::data).into(),
        ADMIN::GET_LOG => log(connection, queue, entry).map(Answer::data).into(),
        ADMIN::SET_FEATURES => features::set(queue, command).into(),
        ADMIN::GET_FEATURES => features::get(queue, entry).into(),
        ADMIN::KEEP_ALIVE => Answer::result(0),
        // Commands are executed as they come: there is nothing left to abort (bit 0 says so).
        ADMIN::ABORT => Answer::result(1),
        ADMIN::ASYNC_EVENT => {
            let parked = lock(&queue.controller.events).park(entry.cid());
            match parked {
                Ok(()) => {
                    connection.port.tell(&queue.controller);
                    return Outcome::Parked;
                }
                Err(status) => Answer::fail(status),
            }
        }
        _ => Answer::fail(Status::INVALID_OPCODE.do_not_retry()),
    })
}

/// Whether a Get Log Page asks for the ANA log.
pub(super) fn is_ana_log(entry: &Entry) -> bool {
    log_id(entry) == logs::id::ANA
}

fn log_id(entry: &Entry) -> u8 {
    entry.byte(40)
}

/// Identify, by its CNS. Pages of command sets other than NVM (CSI, byte 47) are not there.
fn identify(connection: &Connection, queue: &Queue, entry: &Entry) -> Result<Vec<u8>, Status> {
    let (port, controller) = (&connection.port, &queue.controller);
    let nqn = controller.subsystem.nqn();
    let nsid = entry.nsid();
    let cns = entry.byte(40);
    if matches!(cns, 0x05..=0x07) && entry.byte(47) != 0 {
        return Err(INVALID_FIELD);
    }
    match cns {
        0x00 => {
            if nsid == Nsid(0) || nsid == Nsid::ALL {
                return Err(Status::INVALID_NAMESPACE.do_not_retry());
            }
            // One that is not attached here is all zeros.
            let page = port.attached(nqn, nsid);
            Ok(page.map_or_else(
                || vec![0; IDENTIFY],
                |(namespace, state)| pages::namespace::page(&namespace, state),
            ))
        }
        0x01 => {
            let serial = controller.subsystem.serial();
            Ok(pages::controller::page(nqn, serial, controller.cntlid))
        }
        0x02 | 0x07 => {
            if nsid.0 >= 0xffff_fffe {
                return Err(Status::INVALID_NAMESPACE.do_not_retry());
            }
            Ok(pages::namespace::list(port.nsids(nqn).into_iter(), nsid))
        }
        0x03 | 0x08 => {
            let found = port.attached(nqn, nsid);
            let (namespace, _) = found.ok_or(Status::INVALID_NAMESPACE.do_not_retry())?;
            Ok(if cns == 0x03 {
                pages::namespace::descriptors(&namespace)
            } else {
                pages::namespace::independent_page(&namespace)
            })
        }
        // What only the NVM command set has: no limits beyond the transfer size, no protection information.
        0x05 | 0x06 => Ok(vec![0; IDENTIFY]),
        _ => Err(INVALID_FIELD),
    }
}

/// Get Log Page: as many bytes as asked for, zeros behind the log's end.
fn log(connection: &Connection, queue: &Queue, entry: &Entry) -> Result<Vec<u8>, Status> {
    let nqn = queue.controller.subsystem.nqn();
    // LSP bit 0: for the ANA log, groups only (RGO). Bit 15 of the dword: keep the event (RAE).
    let groups_only = entry.dword(10) & 1 << 8 != 0;
    let retain = entry.dword(10) & 1 << 15 != 0;
    let dwords = u64::from(entry.dword(11) & 0xffff) << 16 | u64::from(entry.dword(10) >> 16);
    let length = (dwords + 1) * 4;
    // LPO, dwords 12 and 13.
    let offset = entry.quad(48);
    if length > TRANSFER.into() || !offset.is_multiple_of(4) {
        return Err(INVALID_FIELD);
    }
    let page = match log_id(entry) {
        logs::id::SUPPORTED => logs::supported(),
        logs::id::ERRORS => logs::errors(),
        logs::id::HEALTH => logs::health(),
        logs::id::FIRMWARE => logs::firmware(),
        logs::id::CHANGED_NAMESPACES => {
            let mut events = lock(&queue.controller.events);
            let page = logs::changed_namespaces(&events.changed);
            if !retain {
                events.changed.clear();
            }
            page
        }
        logs::id::EFFECTS => logs::effects(),
        logs::id::ANA => {
            let (changes, groups) = connection.port.ana_groups(nqn);
            ana_log::page(changes, &groups, groups_only)
        }
        _ => return Err(Status::INVALID_LOG_PAGE.do_not_retry()),
    };
    let from = usize::try_from(offset).map_err(|_| INVALID_FIELD)?;
    let rest = page.get(from..).ok_or(INVALID_FIELD)?;
    let mut part = vec![0; usize::try_from(length).map_err(|_| INVALID_FIELD)?];
    let known = rest.len().min(part.len());
    part[..known].copy_from_slice(&rest[..known]);
    Ok(part)
}
