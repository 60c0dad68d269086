use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use inbox_core::store::{Terms, Wanted};

use super::{limited, sharing};
use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, Held, all_at_once};

const WORKERS: usize = 8;
const MESSAGES: usize = 60;

pub async fn eight_workers_at_once_never_exceed_a_limit(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let batch = (0..MESSAGES).map(|nth| sharing("pay", ["x", "y"][nth % 2])).collect();
    bench.accept(batch).await;
    let (fleet, per_key) = (NonZeroU32::new(3), NonZeroU32::new(2));
    let wanted =
        Wanted { terms: Terms { fleet, per_key, ..Terms::default() }, ..limited("charge", 3) };
    let held: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
    let done = Arc::new(AtomicUsize::new(0));
    let mut workers = Vec::new();
    for nth in 0..WORKERS {
        let worker = bench.other(database, &format!("worker-{nth}")).await;
        let (held, done, wanted) = (Arc::clone(&held), Arc::clone(&done), wanted.clone());
        workers.push(async move {
            while done.load(Ordering::SeqCst) < MESSAGES {
                let leased = worker.lease_wanted(vec![wanted.clone()]).await;
                // Some stores never wait: whoever holds something must get on all the same.
                tokio::task::yield_now().await;
                let key = |one: &Held| one.delivery.message.concurrency_key.clone();
                for one in &leased {
                    let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
                    *held.entry(key(one).unwrap_or_default()).or_default() += 1;
                    assert!(held.values().all(|count| *count <= 2), "of one key: {held:?}");
                    assert!(held.values().sum::<usize>() <= 3, "of the fleet: {held:?}");
                }
                for one in &leased {
                    tokio::task::yield_now().await;
                    if let Ok(mut held) = held.lock() {
                        *held.entry(key(one).unwrap_or_default()).or_default() -= 1;
                    }
                    worker.settled(one, DONE).await;
                    done.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
    }
    all_at_once(workers).await;
    assert_eq!(done.load(Ordering::SeqCst), MESSAGES);
}
