//! The kernel's uevents: modules that come and go, controllers, heads, subsystems.
//!
//! Owns the netlink socket and what its messages say. They carry no time and tell nothing of paths (there is none for
//! an ANA change or a lost connection): they say that a look is due, or that the driver has to be probed anew. One that
//! somebody else caused (`udevadm trigger`) is no event and is dropped.

mod parse;
mod uevent;

use std::{io, os::fd::OwnedFd};

use rustix::{
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SocketFlags, SocketType, bind,
        netlink::{KOBJECT_UEVENT, SocketAddrNetlink},
        recvfrom, socket_with,
        sockopt::{set_socket_recv_buffer_size, set_socket_recv_buffer_size_force},
    },
};
use tokio::io::{Interest, unix::AsyncFd};

use parse::parse;
pub use uevent::{ControllerChange, HeadChange, NvmeEvent, Presence, Uevent};

/// The group that the kernel sends to; what udev sends on goes to group 2.
const KERNEL_GROUP: u32 = 1;
/// What may wait while the agent is busy, in bytes as the kernel counts them (a message takes 1 to 4 KiB): the events
/// of some thousand controllers. Taken only while they wait.
const WAITING: usize = 4 << 20;
/// A message is a line with the device's path and at most 2 KiB of fields (`UEVENT_BUFFER_SIZE`, kobject.h).
const LONGEST: usize = 8 << 10;

/// A socket that the kernel's uevents arrive on. Needs no privilege.
#[derive(Debug)]
pub struct Uevents {
    socket: AsyncFd<OwnedFd>,
    buffer: Box<[u8]>,
}

impl Uevents {
    /// Starts to listen. Belongs to the tokio runtime that it is called in.
    ///
    /// # Errors
    ///
    /// No netlink socket can be had.
    pub fn listen() -> io::Result<Self> {
        Self::with_room_for(WAITING)
    }

    fn with_room_for(bytes: usize) -> io::Result<Self> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let protocol = Some(KOBJECT_UEVENT);
        let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, protocol)?;
        // Past net.core.rmem_max needs CAP_NET_ADMIN; without it that maximum is taken. A smaller buffer is no error:
        // what does not fit is told.
        set_socket_recv_buffer_size_force(&socket, bytes)
            .or_else(|_| set_socket_recv_buffer_size(&socket, bytes))?;
        bind(&socket, &SocketAddrNetlink::new(0, KERNEL_GROUP))?;
        let interest = Interest::READABLE | Interest::ERROR;
        #[expect(
            deprecated,
            reason = "what took its place is unsafe, for types whose descriptor can change; an OwnedFd's cannot"
        )]
        let socket = AsyncFd::with_interest(socket, interest)?;
        Ok(Self {
            socket,
            buffer: vec![0; LONGEST].into(),
        })
    }

    /// The next event. Nothing is lost when this future is dropped.
    ///
    /// # Errors
    ///
    /// The socket failed. Messages that did not fit are no failure: [`Uevent::Overflow`].
    pub async fn next(&mut self) -> io::Result<Uevent> {
        loop {
            match self.message().await {
                Ok(message) => {
                    if let Some(event) = parse(message) {
                        return Ok(event);
                    }
                }
                Err(error) if error.raw_os_error() == Some(Errno::NOBUFS.raw_os_error()) => {
                    return Ok(Uevent::Overflow);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The next message of the kernel; empty for one that is of somebody else, or longer than any of the kernel's.
    async fn message(&mut self) -> io::Result<&[u8]> {
        let Self { socket, buffer } = self;
        let receive = |socket: &mut OwnedFd| Ok(receive(socket, buffer)?);
        // An overflow is an error of the socket and wakes as one.
        let interest = Interest::READABLE | Interest::ERROR;
        let length = socket.async_io_mut(interest, receive).await?;
        Ok(buffer.get(..length).unwrap_or_default())
    }
}

/// How long the next message is; 0 for one that did not come from the kernel.
fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    // With TRUNC the length is the message's own, however much of it the buffer holds.
    let (_, length, sender) = recvfrom(socket, buffer, RecvFlags::TRUNC)?;
    let sender = sender.and_then(|sender| SocketAddrNetlink::try_from(sender).ok());
    let from_kernel = sender.is_some_and(|sender| sender.pid() == 0);
    Ok(if from_kernel { length } else { 0 })
}

#[cfg(test)]
mod tests;
