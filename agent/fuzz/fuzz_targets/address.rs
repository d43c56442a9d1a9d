//! Addresses: the attribute, and the text form of an endpoint. What is read must survive being written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pathwarden::fabric::{Attr, Endpoint, SysfsAddress, Transport};

const TRANSPORTS: [&str; 7] = ["tcp", "rdma", "fc", "loop", "pcie", "apple-nvme", "x"];

fuzz_target!(|input: (u8, &str)| {
    let (choice, text) = input;
    let transport = Transport::new(TRANSPORTS[usize::from(choice) % TRANSPORTS.len()]);
    if let Attr::Value(endpoint) = Endpoint::from_sysfs(&transport, &SysfsAddress::parse(text)) {
        let document = serde_json::to_string(&endpoint).expect("endpoints are texts");
        let read: Endpoint = serde_json::from_str(&document).expect("what was written can be read");
        assert_eq!(read, endpoint);
        assert!(read.same_as(&endpoint) && read.covers(&endpoint));
    }
    if let Ok(endpoint) = text.parse::<Endpoint>() {
        assert_eq!(endpoint.to_string().parse(), Ok(endpoint));
    }
});
