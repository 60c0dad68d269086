use std::collections::BTreeMap;
use std::sync::Arc;

use inbox_core::Now;
use inbox_core::message::{Envelope, MessageId};
use inbox_core::store::{Accepted, DeliveryFilter};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, all_at_once, id_of, is_new, keyed, patiently};

const CALLERS: usize = 64;
const KEYS: usize = 4;
const ROUNDS: usize = 8;

pub async fn of_64_acceptances_of_one_key_at_once_one_is_new(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut connections = Vec::new();
    for _ in 0..4 {
        connections.push(bench.other(database, "host").await);
    }
    for round in 0..ROUNDS {
        let bench = |caller: usize| connections[caller % connections.len()].clone();
        let accepting = (0..CALLERS).map(|caller| accept_shared(bench(caller), round, caller));
        let mut new = BTreeMap::<String, usize>::new();
        let mut named = BTreeMap::<String, MessageId>::new();
        for (key, is_new, id) in all_at_once(accepting).await.into_iter().flatten() {
            *new.entry(key.clone()).or_default() += usize::from(is_new);
            assert_eq!(*named.entry(key).or_insert(id), id, "all are told of the same message");
        }
        assert_eq!(new.len(), CALLERS + KEYS);
        assert!(new.values().all(|new| *new == 1), "each key is new to one: {new:?}");
    }
    let stored = bench.list(DeliveryFilter::default()).await.len();
    assert_eq!(stored, ROUNDS * (CALLERS + KEYS));
}

/// Accepts every shared key and one of its own, and tells which were new and which they became.
async fn accept_shared(
    bench: Bench,
    round: usize,
    caller: usize,
) -> Vec<(String, bool, MessageId)> {
    let shared = (0..KEYS).map(|at| format!("shared-{round}-{at}"));
    let mut keys: Vec<_> = shared.chain([format!("own-{round}-{caller}")]).collect();
    // Two callers with opposite orders must not wait for each other.
    if caller % 8 >= 4 {
        keys.reverse();
    }
    let batch: Arc<[Envelope]> = keys.iter().map(|key| keyed("pay", key)).collect();
    let call = || bench.store.accept(Arc::clone(&batch), Now::At(bench.now));
    let answers: Vec<Accepted> = patiently("accept", call).await;
    let told = batch.iter().zip(&answers).map(|(envelope, answer)| {
        let id = id_of(answer).unwrap_or(envelope.message.id);
        (envelope.message.idempotency_key.clone().unwrap_or_default(), is_new(answer), id)
    });
    told.collect()
}
