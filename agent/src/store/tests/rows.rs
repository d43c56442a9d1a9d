//! Rows: put, chosen, cut off, dropped.

use super::*;
use crate::fabric::BootNs;

#[test]
fn a_window_that_is_put_again_stays_one_row_at_its_place() {
    let (_folder, store) = new_store();
    put(&store, &open_one("a"));
    put(&store, &document("b"));
    put(&store, &document("a"));
    put(&store, &document("a"));
    let listing = all(&store);
    assert_eq!(ids(&listing), ["a", "b"]);
    assert_eq!(listing.windows[0].document, document("a"));
}

#[test]
fn windows_are_chosen_by_what_is_asked_for() {
    let (_folder, store) = new_store();
    let (ms, s) = (1_000_000_u64, 1_000_000_000_u64);
    let rows = [
        json!({"begin_unix_ms": 1_000, "duration_ns": 500 * ms}),
        json!({"begin_unix_ms": 2_000, "duration_ns": 3 * s, "class": "cutover"}),
        json!({"begin_unix_ms": null, "duration_ns": null, "at_least_ns": 4 * s, "nqn": "nqn.x:b"}),
        json!({"begin_unix_ms": 6_000, "duration_ns": null, "open": true}),
    ];
    for (at, fields) in rows.iter().enumerate() {
        put(&store, &with(&at.to_string(), fields));
    }
    let chosen = |query: &WindowQuery| ids(&store.windows(query).unwrap()).join(" ");
    let any = WindowQuery::default;
    assert_eq!(chosen(&any()), "0 1 2 3");
    let nqn = Some("nqn.x:b".into());
    assert_eq!(chosen(&WindowQuery { nqn, ..any() }), "2");
    let class = Some("cutover".to_owned());
    assert_eq!(chosen(&WindowQuery { class, ..any() }), "1");
    let limit = Some(2);
    assert_eq!(chosen(&WindowQuery { limit, ..any() }), "2 3");
    // It lasted from 2 s to 5 s; of another one it is not known when it began; one is open still.
    for (since, expected) in [(5_000, "1 2 3"), (5_001, "2 3"), (9_000, "2 3")] {
        let since_unix_ms = Some(since);
        assert_eq!(
            chosen(&WindowQuery {
                since_unix_ms,
                ..any()
            }),
            expected
        );
    }
    // The bound is exclusive; a length that is not known may be longer.
    for (bound, expected) in [
        (Duration::from_millis(499), "0 1 2 3"),
        (Duration::from_secs(3), "2 3"),
        (Duration::from_secs(4), "3"),
        (Duration::MAX, "3"),
    ] {
        let longer_than = Some(bound);
        assert_eq!(
            chosen(&WindowQuery {
                longer_than,
                ..any()
            }),
            expected
        );
    }
}

#[test]
fn what_a_killed_agent_left_open_ends_where_it_last_saw_it() {
    let (_folder, mut store) = new_store();
    let seen = json!({"at_least_ns": 7_000, "boot_id": "earlier", "begin_ns": 9_000});
    let mut earlier = open_one("earlier boot");
    for (name, value) in seen.as_object().unwrap() {
        earlier[name] = value.clone();
    }
    put(&store, &earlier);
    put(&store, &open_one("this boot"));
    let mut own = open_one("its own");
    own["begin_ns"] = json!(5_000);
    put(&store, &own);
    put(&store, &document("ended"));
    assert_eq!(store.close_abandoned("boot", BootNs(5_000)).unwrap(), 2);
    assert_eq!(store.close_abandoned("boot", BootNs(5_000)).unwrap(), 0);
    let listing = all(&store);
    let documents: Vec<&Value> = listing.windows.iter().map(|it| &it.document).collect();
    let cut_off =
        json!({"open": false, "truncated_end": true, "duration_ns": null, "end_ns": null});
    for (name, value) in cut_off.as_object().unwrap() {
        assert_eq!(&documents[0][name], value, "{name}");
        assert_eq!(&documents[1][name], value, "{name}");
    }
    assert_eq!(documents[0]["at_least_ns"], 7_000);
    assert_eq!(documents[1]["at_least_ns"], Value::Null);
    assert_eq!(documents[2..], [&own, &document("ended")]);
}

#[test]
fn old_windows_go_and_open_ones_stay() {
    let (_folder, store) = new_store();
    for at in 0..6 {
        let begin = json!({"begin_unix_ms": at * 1_000});
        put(&store, &with(&at.to_string(), &begin));
    }
    put(&store, &with("no time", &json!({"begin_unix_ms": null})));
    let mut open = open_one("open");
    open["begin_unix_ms"] = json!(0);
    put(&store, &open);
    assert_eq!(store.prune(100, 2_000).unwrap(), 2);
    assert_eq!(ids(&all(&store)), ["2", "3", "4", "5", "no time", "open"]);
    assert_eq!(store.prune(2, 0).unwrap(), 3);
    assert_eq!(ids(&all(&store)), ["5", "no time", "open"]);
    assert_eq!(store.prune(0, i64::MAX).unwrap(), 2);
    assert_eq!(ids(&all(&store)), ["open"]);
}

#[test]
fn a_damaged_row_is_named_and_does_not_hide_the_others() {
    let (_folder, mut store) = new_store();
    for id in ["a", "b", "c"] {
        put(&store, &open_one(id));
    }
    let damage = "UPDATE windows SET document = '{\"id\": \"b\"' WHERE id = 'b'";
    assert_eq!(store.connection.execute(damage, []).unwrap(), 1);
    let listing = all(&store);
    assert_eq!(ids(&listing), ["a", "c"]);
    assert_eq!(listing.unchecked.len(), 1);
    assert_eq!(listing.unchecked[0].object, "window b");
    // Nor does it keep them open.
    assert_eq!(store.close_abandoned("boot", BootNs(2_000)).unwrap(), 3);
    assert!(all(&store).windows.iter().all(|window| !window.open));
}

#[test]
fn windows_that_are_put_together_are_all_there_or_none() {
    let (folder, mut store) = new_store();
    let changes = story::changes();
    let all_of_them = || changes.iter().map(story::window);
    let fail = "CREATE TRIGGER fail BEFORE INSERT ON windows WHEN new.open AND
        new.boot_id LIKE '%2' BEGIN SELECT raise(ABORT, 'full'); END";
    store.connection.execute_batch(fail).unwrap();
    assert!(store.put_windows(all_of_them()).is_err());
    assert_eq!(all(&store), Listing::default());
    store.connection.execute_batch("DROP TRIGGER fail").unwrap();
    store.put_windows(all_of_them()).unwrap();
    let read = Store::open_read_only(folder.path()).unwrap();
    assert_eq!(all(&read).windows.len(), 3);
}

#[test]
fn a_document_that_is_no_window_is_not_put() {
    let (_folder, store) = new_store();
    let mut document = document("a");
    document.as_object_mut().unwrap().remove("class");
    let refused = store.put_document(&document.to_string());
    assert!(matches!(refused, Err(StoreError::Document(_))));
    assert_eq!(all(&store), Listing::default());
}
