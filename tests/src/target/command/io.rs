//! Commands of the I/O queues: the NVM command set, as far as a block device needs it.

use super::verb::IO;
use super::{Answer, Command};
use crate::target::port::{Access, Port};
use crate::target::queue::Queue;
use crate::target::status::Status;
use crate::target::subsystem::Namespace;
use crate::target::wire::Entry;

pub(super) fn execute(port: &Port, queue: &Queue, command: &Command) -> Answer {
    let entry = &command.entry;
    match port.access(queue.controller.subsystem.nqn(), entry.nsid()) {
        Access::Refused(status) => Answer::fail(status),
        Access::Served(namespace) => serve(&namespace, command).into(),
    }
}

fn serve(namespace: &Namespace, command: &Command) -> Result<Answer, Status> {
    let (first, count) = range(&command.entry);
    let in_range = |written: bool| {
        written
            .then(|| Answer::result(0))
            .ok_or(Status::LBA_RANGE.do_not_retry())
    };
    match command.entry.opcode() {
        IO::READ => {
            let data = namespace.read(first, count);
            data.map(Answer::data)
                .ok_or(Status::LBA_RANGE.do_not_retry())
        }
        IO::WRITE => {
            let expected = u64::from(count) * u64::from(namespace.block);
            if u64::try_from(command.data.len()) != Ok(expected) {
                return Err(Status::SGL_LENGTH.do_not_retry());
            }
            in_range(namespace.write(first, &command.data))
        }
        IO::WRITE_ZEROES => in_range(namespace.zero(first, count)),
        // Memory has no cache behind it.
        IO::FLUSH => Ok(Answer::result(0)),
        _ => Err(Status::INVALID_OPCODE.do_not_retry()),
    }
}

/// First block (SLBA) and how many (NLB, 0's based).
fn range(entry: &Entry) -> (u64, u32) {
    (entry.quad(40), (entry.dword(12) & 0xffff) + 1)
}
