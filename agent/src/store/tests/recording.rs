//! Recording beside the loop.

use super::{story::changes, story::window, *};

const RETENTION: Retention = Retention {
    keep: 10,
    // The story is of 2026, whenever this is run.
    max_age: Duration::MAX,
};

#[test]
fn a_window_that_has_ended_is_there_when_put_returns_with_all_before_it() {
    let folder = TempDir::new().unwrap();
    let mut recorder = Recorder::start(folder.path(), RETENTION).unwrap();
    let (changes, mut put) = (changes(), Vec::new());
    for change in &changes {
        recorder.put(window(change));
        put.push(window(change).id.to_string());
        put.dedup();
        if !window(change).open {
            let read = Store::open_read_only(folder.path()).unwrap();
            let listing = all(&read);
            assert_eq!(ids(&listing), put);
            let last = serde_json::to_value(window(change)).unwrap();
            assert_eq!(listing.windows.last().unwrap().document, last);
        }
    }
    assert!(window(changes.last().unwrap()).open);
    drop(recorder);
    // It was closed as it should be: nothing is left in the log.
    assert!(!with_suffix(&folder.path().join(FILE), "-wal").exists());
    assert_eq!(ids(&all(&Store::open(folder.path()).unwrap())), put);
}

#[test]
fn without_a_store_the_loop_goes_on() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let mut recorder = Recorder::start(&file, RETENTION).unwrap();
    for change in &changes() {
        recorder.put(window(change));
    }
}

#[test]
fn a_write_that_hangs_is_not_waited_for_and_is_made_up_for() {
    let folder = TempDir::new().unwrap();
    drop(Store::open(folder.path()).unwrap());
    let mut recorder = Recorder::start(folder.path(), RETENTION).unwrap();
    let changes = changes();
    recorder.put(window(&changes[1]));
    let other = Connection::open(folder.path().join(FILE)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    recorder.put(window(&changes[3]));
    recorder.put(window(&changes[4]));
    let read = Store::open_read_only(folder.path()).unwrap();
    assert_eq!(all(&read).windows.len(), 1);
    other.execute_batch("ROLLBACK").unwrap();
    while all(&read).windows.len() < 3 {
        std::thread::sleep(Duration::from_millis(10));
    }
}
