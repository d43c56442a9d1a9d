//! Questions to the kernel: which links there are, and where a route leads. Each over a connection of its own, so that
//! no answer is lost among what the kernel tells unasked, and nothing is held between two questions.

use std::{future::Future, net::IpAddr};

use futures_util::TryStreamExt;
use netlink_packet_route::{
    AddressFamily, RouteNetlinkMessage,
    route::{RouteAttribute, RouteMessage, RouteType},
};

use super::{
    LinksError,
    table::{Table, name, route_links},
};

/// The links and their addresses as they are now.
pub(super) async fn table() -> Result<Table, LinksError> {
    let (connection, handle, _unasked) = rtnetlink::new_connection().map_err(LinksError::Open)?;
    answer(connection, async {
        let mut table = Table::default();
        let mut links = handle.link().get().execute();
        while let Some(link) = links.try_next().await? {
            table.apply(&RouteNetlinkMessage::NewLink(link));
        }
        let mut addresses = handle.address().get().execute();
        while let Some(address) = addresses.try_next().await? {
            table.apply(&RouteNetlinkMessage::NewAddress(address));
        }
        Ok(table)
    })
    .await
}

/// The interface by which the kernel reaches `destination`; none when it does not.
pub(super) async fn interface(
    destination: IpAddr,
    source: Option<IpAddr>,
) -> Result<Option<String>, LinksError> {
    let (connection, handle, _unasked) = rtnetlink::new_connection().map_err(LinksError::Open)?;
    let question = async {
        let request = handle.route().get(route_to(destination, source));
        let Some(route) = request.execute().try_next().await? else {
            return Ok(None);
        };
        let leads_there = !matches!(
            route.header.kind,
            RouteType::Unreachable | RouteType::Prohibit | RouteType::BlackHole | RouteType::Throw
        );
        let Some(index) = route_links(&route).next().filter(|_| leads_there) else {
            return Ok(None);
        };
        let link = handle.link().get().match_index(index).execute();
        let link = std::pin::pin!(link).try_next().await?;
        Ok(link.as_ref().and_then(name).map(str::to_owned))
    };
    match answer(connection, question).await {
        // An error is an answer: no route, or a source that is not one of the host's addresses.
        Err(LinksError::Ask(rtnetlink::Error::NetlinkError(_))) => Ok(None),
        answer => answer,
    }
}

/// `RTM_GETROUTE` for one destination.
fn route_to(destination: IpAddr, source: Option<IpAddr>) -> RouteMessage {
    let (family, bits) = match destination {
        IpAddr::V4(_) => (AddressFamily::Inet, 32),
        IpAddr::V6(_) => (AddressFamily::Inet6, 128),
    };
    let mut message = RouteMessage::default();
    message.header.address_family = family;
    message.header.destination_prefix_length = bits;
    let to = RouteAttribute::Destination(destination.into());
    message.attributes.push(to);
    if let Some(source) = source {
        message.header.source_prefix_length = bits;
        let from = RouteAttribute::Source(source.into());
        message.attributes.push(from);
    }
    message
}

/// Runs a connection until the question that was put over it is answered.
async fn answer<T>(
    connection: impl Future<Output = ()>,
    question: impl Future<Output = Result<T, rtnetlink::Error>>,
) -> Result<T, LinksError> {
    tokio::select! {
        answer = question => answer.map_err(LinksError::Ask),
        () = connection => Err(LinksError::Closed),
    }
}
