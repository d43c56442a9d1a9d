//! A store in a folder of its own, for each test.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

mod files;
mod model;
mod recording;
mod rows;
mod story;

/// A store in a folder that goes with it.
fn new_store() -> (TempDir, Store) {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    (folder, store)
}

/// A window's document with what every window has.
fn document(id: &str) -> Value {
    json!({
        "id": id, "nqn": "nqn.x:a", "nsid": 1, "boot_id": "boot", "begin_ns": 1_000, "end_ns": 3_000,
        "begin_unix_ms": 1_000, "duration_ns": 2_000, "at_least_ns": null, "open": false, "truncated_end": false,
        "class": "outage", "severity": "queued", "cause_begin": {"kind": "ana-log", "controller": null},
        "cause_end": {"kind": "ana-log", "controller": null},
    })
}

/// One with these fields instead.
fn with(id: &str, fields: &Value) -> Value {
    let mut document = document(id);
    for (name, value) in fields.as_object().unwrap() {
        document[name] = value.clone();
    }
    document
}

fn open_one(id: &str) -> Value {
    let open = json!({"open": true, "end_ns": null, "duration_ns": null, "cause_end": null});
    with(id, &open)
}

fn put(store: &Store, document: &Value) {
    store.put_document(&document.to_string()).unwrap();
}

fn all(store: &Store) -> Listing {
    store.windows(&WindowQuery::default()).unwrap()
}

fn ids(listing: &Listing) -> Vec<&str> {
    listing.windows.iter().map(|it| it.id.as_str()).collect()
}
