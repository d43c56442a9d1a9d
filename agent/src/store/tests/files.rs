//! The file: made, read beside a writer, damaged, newer, set aside.

use super::*;

/// A store's file with something put in and everything written back to it.
fn closed_store() -> (TempDir, PathBuf) {
    let (folder, store) = new_store();
    put(&store, &document("a"));
    let path = store.path().to_owned();
    drop(store);
    (folder, path)
}

#[test]
fn the_folder_and_its_files_are_their_owners_alone() {
    let parent = TempDir::new().unwrap();
    let folder = parent.path().join("state");
    let store = Store::open(&folder).unwrap();
    put(&store, &document("a"));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for suffix in ["", "-wal", "-shm"] {
        assert_eq!(mode(&with_suffix(store.path(), suffix)), 0o600, "{suffix}");
    }
}

#[test]
fn what_was_put_is_found_though_the_writer_never_closed() {
    let (folder, store) = new_store();
    put(&store, &document("a"));
    // As a killed process leaves it: the log is there, nothing was written back.
    std::mem::forget(store);
    let read = Store::open_read_only(folder.path()).unwrap();
    assert_eq!(ids(&all(&read)), ["a"]);
    let second = Store::open(folder.path()).unwrap();
    put(&second, &document("b"));
    assert_eq!(ids(&all(&second)), ["a", "b"]);
    // The reader was open before and sees it too.
    assert_eq!(ids(&all(&read)), ["a", "b"]);
}

#[test]
fn a_reader_sees_whole_windows_while_a_writer_writes() {
    let (folder, store) = new_store();
    let writer = std::thread::spawn(move || {
        for at in 0..200 {
            put(&store, &open_one(&at.to_string()));
            put(&store, &document(&at.to_string()));
        }
    });
    let read = Store::open_read_only(folder.path()).unwrap();
    let mut seen = 0;
    while !writer.is_finished() {
        let listing = all(&read);
        assert_eq!(listing.unchecked, []);
        assert!(listing.windows.len() >= seen);
        seen = listing.windows.len();
        let (last, before) = match listing.windows.split_last() {
            Some(split) => split,
            None => continue,
        };
        assert!(before.iter().all(|window| !window.open), "{last:?}");
    }
    writer.join().unwrap();
    assert_eq!(all(&read).windows.len(), 200);
}

#[test]
fn a_store_that_is_not_there_is_named_with_how_to_get_one() {
    let folder = TempDir::new().unwrap();
    let error = Store::open_read_only(folder.path()).unwrap_err();
    assert!(matches!(error, StoreError::Missing { .. }), "{error:?}");
    let text = error.to_string();
    let path = folder.path().join(FILE).display().to_string();
    assert!(
        text.starts_with(&path) && text.contains("pathwarden run"),
        "{text}"
    );
    // Looking has not made it.
    assert!(!folder.path().join(FILE).exists());
}

#[test]
fn a_file_that_is_no_database_is_named_and_left_alone() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(FILE);
    let text = "not a database at all\n".repeat(100);
    fs::write(&path, &text).unwrap();
    for opened in [
        Store::open(folder.path()),
        Store::open_read_only(folder.path()),
    ] {
        let error = opened.unwrap_err();
        assert!(matches!(&error, StoreError::Damaged { path: named, .. } if *named == path));
        assert!(error.to_string().contains("is damaged"), "{error}");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn damaged_pages_are_found_and_what_can_be_read_is_read() {
    let (folder, store) = new_store();
    for at in 0..200 {
        let long = json!({"legs": "x".repeat(2_000)});
        put(&store, &with(&at.to_string(), &long));
    }
    let path = store.path().to_owned();
    drop(store);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2 / 4_096 * 4_096;
    bytes[middle..middle + 4_096].fill(0xff);
    fs::write(&path, &bytes).unwrap();
    let error = Store::open(folder.path()).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
    assert_eq!(fs::read(&path).unwrap(), bytes);
    let read = Store::open_read_only(folder.path()).unwrap();
    assert!(read.problem().unwrap().is_some());
    let listing = all(&read);
    assert!(!listing.windows.is_empty() && listing.windows.len() < 200);
    assert!(listing.unchecked[0].object.ends_with(FILE), "{listing:?}");
}

#[test]
fn a_newer_file_is_named_and_left_alone() {
    let (folder, path) = closed_store();
    let raw = Connection::open(&path).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    drop(raw);
    let before = fs::read(&path).unwrap();
    for opened in [
        Store::open(folder.path()),
        Store::open_read_only(folder.path()),
    ] {
        let error = opened.unwrap_err();
        assert!(
            matches!(error, StoreError::Newer { found: 99, .. }),
            "{error:?}"
        );
        assert!(
            error.to_string().starts_with(&path.display().to_string()),
            "{error}"
        );
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn an_older_file_is_brought_up_to_date_by_who_may_write() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join(FILE), "").unwrap();
    let error = Store::open_read_only(folder.path()).unwrap_err();
    assert!(
        matches!(error, StoreError::Older { found: 0, .. }),
        "{error:?}"
    );
    drop(Store::open(folder.path()).unwrap());
    assert_eq!(
        all(&Store::open_read_only(folder.path()).unwrap()),
        Listing::default()
    );
}

#[test]
fn a_store_that_is_set_aside_is_whole_and_another_can_be_made() {
    let (folder, store) = new_store();
    put(&store, &document("a"));
    // Its log is there and holds the window.
    std::mem::forget(store);
    let at = UnixNs(1_796_061_600_000_000_000);
    let aside = Store::set_aside(folder.path(), at).unwrap();
    assert_eq!(aside, folder.path().join("pathwarden.db.20261130T180000Z"));
    let again = Store::open(folder.path()).unwrap();
    assert_eq!(all(&again), Listing::default());
    drop(again);
    // A second one at the same time does not take its place.
    let error = Store::set_aside(folder.path(), at).unwrap_err();
    assert!(matches!(error, StoreError::File { .. }), "{error:?}");
    let kept = TempDir::new().unwrap();
    for suffix in ["", "-wal", "-shm"] {
        let to = with_suffix(&kept.path().join(FILE), suffix);
        fs::rename(with_suffix(&aside, suffix), to).unwrap();
    }
    assert_eq!(ids(&all(&Store::open(kept.path()).unwrap())), ["a"]);
}
