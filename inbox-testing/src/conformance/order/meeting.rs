use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use inbox_core::message::MessageId;
use inbox_core::store::Wanted;

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, all_at_once, ordered, running, wanted};

const WORKERS: usize = 8;
const LANES: usize = 5;
const EACH: usize = 24;

pub async fn eight_workers_at_once_keep_every_order(database: &dyn TestDatabase) {
    keep_every_order(database, &[wanted("charge", 10)]).await;
}

pub async fn eight_workers_that_claim_runs_at_once_keep_every_order(database: &dyn TestDatabase) {
    let runs = [(2, 9), (9, 2), (1, 5), (9, 9)];
    let wanted = runs.map(|(lanes, length)| running("charge", 10, lanes, length));
    keep_every_order(database, &wanted).await;
}

/// Each worker claims as one of these says.
async fn keep_every_order(database: &dyn TestDatabase, wanted: &[Wanted]) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut expected: BTreeMap<String, Vec<MessageId>> = BTreeMap::new();
    for nth in 0..LANES * EACH {
        let key = format!("lane-{}", nth % LANES);
        let id = bench.accept_one(ordered("pay", &key)).await;
        expected.entry(key).or_default().push(id);
    }
    let run: Arc<Mutex<BTreeMap<String, Vec<MessageId>>>> = Arc::default();
    let mut workers = Vec::new();
    for nth in 0..WORKERS {
        let worker = bench.other(database, &format!("worker-{nth}")).await;
        let (run, wanted) = (Arc::clone(&run), wanted[nth % wanted.len()].clone());
        workers.push(async move {
            let done =
                || run.lock().is_ok_and(|run| run.values().flatten().count() == LANES * EACH);
            while !done() {
                let held = worker.lease_wanted(vec![wanted.clone()]).await;
                for one in &held {
                    let key = one.delivery.message.ordering_key.clone().unwrap_or_default();
                    // Noted while it is held: two at once would be seen in the wrong order.
                    if let Ok(mut run) = run.lock() {
                        run.entry(key).or_default().push(one.id());
                    }
                }
                tokio::task::yield_now().await;
                let settles = held.iter().map(|held| held.settle(DONE)).collect();
                assert!(worker.settle_all(settles).await.iter().all(Result::is_ok));
            }
        });
    }
    all_at_once(workers).await;
    let run = run.lock().map(|run| run.clone()).unwrap_or_default();
    assert_eq!(run, expected);
}
