//! A cable that can be pulled: a veth pair between the host and a network namespace that only the target is in.

use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsFd as _;
use std::thread;

use anyhow::{Context as _, Result, anyhow};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use super::clock::BootNs;
use super::{modules, netlink};

/// The host's end.
const HOST: &str = "h0";
/// The target's end.
const TARGET: &str = "t0";
const HOST_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);

/// A link that is up until it is cut; gone when dropped.
#[derive(Debug)]
pub struct Link {
    /// The target's network namespace; it lives as long as this, or a socket in it.
    namespace: File,
}

impl Link {
    /// The host's interface.
    pub const INTERFACE: &str = HOST;
    /// Where the target is to listen.
    pub const TARGET_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);

    /// Lays the cable.
    pub fn lay() -> Result<Self> {
        modules::load("veth", c"")?;
        let namespace = on_a_thread(|| {
            unshare_network()?;
            File::open("/proc/thread-self/ns/net").context("open the new network namespace")
        })?;
        netlink::veth(HOST, TARGET, namespace.as_fd())?;
        let link = Self { namespace };
        netlink::add_address(HOST, HOST_ADDRESS)?;
        netlink::set_link(HOST, true)?;
        link.beyond(|| {
            netlink::loopback_up()?;
            netlink::add_address(TARGET, Self::TARGET_ADDRESS)?;
            netlink::set_link(TARGET, true)
        })?;
        Ok(link)
    }

    /// Does something at the far end. Sockets opened there, and threads started there, stay there.
    pub fn beyond<T: Send>(&self, what: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        on_a_thread(|| {
            let network = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(self.namespace.as_fd(), network)
                .context("go to the other network namespace")?;
            what()
        })
    }

    /// Cuts it. The moment is just before.
    pub fn cut(&self) -> Result<BootNs> {
        let before = BootNs::now();
        netlink::set_link(HOST, false)?;
        Ok(before)
    }

    /// Joins it again.
    pub fn mend(&self) -> Result<()> {
        netlink::set_link(HOST, true)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Err(error) = netlink::delete(HOST) {
            eprintln!("link: {error:#}");
        }
    }
}

/// A thread's network namespace is its own affair: nobody else's changes with it.
fn on_a_thread<T: Send>(what: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        let done = scope.spawn(what).join();
        done.map_err(|_| anyhow!("the thread beyond the link panicked"))?
    })
}

#[expect(
    deprecated,
    reason = "what replaces it is unsafe for the sake of unsharing file tables, which this does not"
)]
fn unshare_network() -> Result<()> {
    rustix::thread::unshare(UnshareFlags::NEWNET).context("make a network namespace")
}
