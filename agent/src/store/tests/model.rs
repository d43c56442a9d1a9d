//! The table beside a list that does the same.

use proptest::prelude::*;

use super::*;
use crate::fabric::BootNs;

#[derive(Debug, Clone)]
enum Step {
    Put {
        id: u8,
        open: bool,
        begin: i64,
    },
    CloseAbandoned {
        since: u64,
    },
    Prune {
        keep: u32,
        older_than: i64,
    },
    /// The process is killed and started again.
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..6_u8, any::<bool>(), 0..20_i64).prop_map(|(id, open, begin)| Step::Put { id, open, begin }),
        1 => (0..20_u64).prop_map(|since| Step::CloseAbandoned { since }),
        1 => (0..4_u32, 0..20_i64).prop_map(|(keep, older_than)| Step::Prune { keep, older_than }),
        1 => Just(Step::Reopen),
    ]
}

/// Id, whether it is open, when it began.
type Row = (u8, bool, i64);

fn follow(rows: &mut Vec<Row>, step: &Step) {
    match *step {
        Step::Put { id, open, begin } => match rows.iter_mut().find(|row| row.0 == id) {
            Some(row) => *row = (id, open, begin),
            None => rows.push((id, open, begin)),
        },
        Step::CloseAbandoned { since } => {
            let since = i64::try_from(since).unwrap();
            rows.iter_mut().for_each(|row| row.1 &= row.2 >= since);
        }
        Step::Prune { keep, older_than } => {
            let mut ended = rows.iter().filter(|row| !row.1).count();
            rows.retain(|row| {
                let newest = ended <= usize::try_from(keep).unwrap();
                ended -= usize::from(!row.1);
                row.1 || (newest && row.2 >= older_than)
            });
        }
        Step::Reopen => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_table_holds_what_a_list_would(steps in proptest::collection::vec(step(), 1..24)) {
        let (folder, mut store) = new_store();
        let mut rows = Vec::new();
        for step in &steps {
            follow(&mut rows, step);
            match *step {
                Step::Put { id, open, begin } => {
                    let fields = json!({"open": open, "begin_ns": begin, "begin_unix_ms": begin});
                    put(&store, &with(&id.to_string(), &fields));
                }
                Step::CloseAbandoned { since } => {
                    store.close_abandoned("boot", BootNs(since)).unwrap();
                }
                Step::Prune { keep, older_than } => {
                    store.prune(keep, older_than).unwrap();
                }
                Step::Reopen => {
                    let next = Store::open(folder.path()).unwrap();
                    std::mem::forget(std::mem::replace(&mut store, next));
                }
            }
            let listing = all(&store);
            let kept = listing.windows.iter().map(|window| {
                let begin = i64::try_from(window.begin_ns.0).unwrap();
                (window.id.parse().unwrap(), window.open, begin)
            });
            prop_assert_eq!(kept.collect::<Vec<Row>>(), rows.clone());
        }
    }
}
