use inbox_core::store::{Accepted, DeliveryFilter, DeliveryState};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, SECOND, envelope, id_of, ids, is_new, keyed};

pub async fn answers_come_in_the_order_of_the_envelopes(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let first = bench.accept_one(keyed("pay", "k")).await;
    bench.pass(SECOND);
    let batch = vec![envelope("pay"), keyed("pay", "k"), envelope("mail"), keyed("pay", "k")];
    let answers = bench.accept(batch).await;
    let named: Vec<_> = answers.iter().map(id_of).collect();
    assert_eq!(named, [None, Some(first), None, Some(first)]);
}

pub async fn deliveries_are_ready_in_the_order_of_the_envelopes(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let (older, newer) = (envelope("pay"), envelope("pay"));
    // Neither in the order of keys nor in that of ids.
    let batch = vec![keyed("pay", "c"), newer, keyed("pay", "a"), older, keyed("pay", "b")];
    let given: Vec<_> = batch.iter().map(|envelope| envelope.message.id).collect();
    bench.accept(batch).await;
    assert_eq!(ids(&bench.lease("charge", 5).await), given);
}

pub async fn nothing_given_is_nothing_answered(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    assert_eq!(bench.accept(Vec::new()).await, []);
    assert_eq!(bench.list(DeliveryFilter::default()).await, []);
}

pub async fn a_message_is_accepted_at_the_moment_of_the_call(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let envelope = envelope("pay");
    let id = envelope.message.id;
    let answers = bench.accept(vec![envelope]).await;
    assert_eq!(answers, [Accepted::New { accepted_at: bench.now }]);
    assert_eq!(bench.show(id).await.stored.accepted_at, bench.now);
    assert_eq!(bench.lease_one("charge").await.delivery.accepted_at, bench.now);
}

pub async fn what_one_process_accepts_another_leases_and_settles(database: &dyn TestDatabase) {
    let scheduling = Bench::open(database).await;
    let working = scheduling.other(database, "host-2").await;
    working.register("pay", "charge").await;
    let id = scheduling.accept_one(envelope("pay")).await;
    let held = working.lease_one("charge").await;
    assert_eq!(held.id(), id);
    working.settled(&held, DONE).await;
    assert_eq!(scheduling.state(id).await, DeliveryState::Completed);
}

pub async fn two_thousand_messages_are_accepted_in_one_call(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.register("pay", "notify").await;
    let batch: Vec<_> = (0..2_000).map(|at| keyed("pay", &format!("k{at}"))).collect();
    let answers = bench.accept(batch).await;
    assert!(answers.iter().all(is_new), "all of them are new");
    let stored: Vec<_> = bench.counts().await.into_iter().map(|count| count.count).collect();
    assert_eq!(stored, [2_000, 2_000], "each has a delivery for both handlers");
}
