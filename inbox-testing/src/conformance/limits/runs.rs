//! What a run is to a limit.

use std::num::NonZeroU32;

use inbox_core::message::MessageId;
use inbox_core::store::Wanted;

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, drain, ids, ordered, running};

/// A lane of three for each of these ordering keys, one after the other.
async fn lanes(bench: &Bench, keys: &[&str]) -> Vec<MessageId> {
    let mut all = Vec::new();
    for key in keys {
        for _ in 0..3 {
            all.push(bench.accept_one(ordered("pay", key)).await);
        }
    }
    all
}

pub async fn a_run_counts_as_one_of_the_fleet(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let other = bench.other(database, "host-2").await;
    bench.register("pay", "charge").await;
    let all = lanes(&bench, &["a", "b", "c"]).await;
    let mut two = running("charge", 20, 9, 9);
    two.terms.fleet = NonZeroU32::new(2);
    let mut held = bench.lease_wanted(vec![two.clone()]).await;
    held.sort_by_key(|one| all.iter().position(|id| *id == one.id()));
    assert_eq!(ids(&held), all[..6], "two runs");
    for (nth, one) in held.iter().enumerate() {
        let next = other.lease_wanted(vec![two.clone()]).await;
        if nth < 3 {
            assert!(next.is_empty(), "{nth} are settled, and both runs go on");
        } else {
            assert_eq!(ids(&next), all[6..], "one run has ended");
            other.release(vec![next[0].token]).await;
        }
        bench.settled(one, DONE).await;
    }
    assert_eq!(drain(&bench, vec![two]).await, all[6..]);
}

/// With the concurrency key of each, all of one lane.
async fn with_keys(bench: &Bench, keys: &[&str]) -> Vec<MessageId> {
    let mut all = Vec::new();
    for key in keys {
        let mut envelope = ordered("pay", "a");
        envelope.message.concurrency_key = Some((*key).to_owned()).filter(|key| !key.is_empty());
        all.push(bench.accept_one(envelope).await);
    }
    all
}

fn by_key(limit: u32) -> Wanted {
    let mut wanted = running("charge", 20, 9, 9);
    wanted.terms.per_key = NonZeroU32::new(limit);
    wanted
}

pub async fn a_run_ends_where_the_concurrency_key_changes(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let all = with_keys(&bench, &["x", "x", "y", "", "", "x"]).await;
    for expected in [&all[..2], &all[2..3], &all[3..5], &all[5..]] {
        let held = bench.lease_wanted(vec![by_key(9)]).await;
        assert_eq!(ids(&held), expected);
        assert!(bench.lease_wanted(vec![by_key(9)]).await.is_empty(), "the run goes on");
        for one in &held {
            bench.settled(one, DONE).await;
        }
    }
    let all = with_keys(&bench, &["x", "x", "y"]).await;
    let held = bench.lease_wanted(vec![running("charge", 20, 9, 9)]).await;
    assert_eq!(ids(&held), all, "unless there is no such limit");
}

pub async fn a_run_counts_as_one_of_its_concurrency_key(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let other = bench.other(database, "host-2").await;
    bench.register("pay", "charge").await;
    let all = with_keys(&bench, &["x", "x", "x"]).await;
    let run = bench.lease_wanted(vec![by_key(2)]).await;
    assert_eq!(ids(&run), all);
    let mut free = Vec::new();
    for _ in 0..2 {
        free.push(bench.accept_one(super::sharing("pay", "x")).await);
    }
    let held = other.lease_wanted(vec![by_key(2)]).await;
    assert_eq!(ids(&held), free[..1], "beside the run, one more");
    for one in &run {
        assert!(other.lease_wanted(vec![by_key(2)]).await.is_empty(), "the run goes on");
        bench.settled(one, DONE).await;
    }
    assert_eq!(ids(&other.lease_wanted(vec![by_key(2)]).await), free[1..]);
}

pub async fn a_lane_whose_next_has_no_room_is_woken_by_whoever_makes_room(
    database: &dyn TestDatabase,
) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let busy = bench.accept_one(super::sharing("pay", "x")).await;
    let held = bench.lease_wanted(vec![by_key(1)]).await;
    assert_eq!(ids(&held), [busy]);
    let all = with_keys(&bench, &["x", "x", "y"]).await;
    assert!(bench.lease_wanted(vec![by_key(1)]).await.is_empty(), "nothing passes the first");
    assert!(bench.lease_wanted(vec![by_key(1)]).await.is_empty());
    bench.settled(&held[0], DONE).await;
    assert_eq!(drain(&bench, vec![by_key(1)]).await, all);
    assert_eq!(bench.mend(10).await, 0, "nothing was left behind");
}

pub async fn a_head_that_this_worker_may_not_take_uses_up_no_room(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut all = Vec::new();
    for (key, version) in [("a", 2), ("a", 1), ("b", 1)] {
        let mut envelope = ordered("pay", key);
        envelope.message.version = version;
        envelope.message.concurrency_key = Some("x".to_owned());
        all.push(bench.accept_one(envelope).await);
    }
    let held = bench.lease_wanted(vec![by_key(1)]).await;
    assert_eq!(ids(&held), all[2..], "at once: nothing of its concurrency key is held");
    let reads_both = Wanted { versions: vec![1, 2], ..by_key(1) };
    assert!(bench.lease_wanted(vec![reads_both.clone()]).await.is_empty(), "it takes the room");
    bench.settled(&held[0], DONE).await;
    assert!(bench.lease_wanted(vec![by_key(1)]).await.is_empty(), "the head is of version 2");
    assert_eq!(drain(&bench, vec![reads_both]).await, all[..2]);
    assert_eq!(bench.mend(10).await, 0, "nothing was left behind");
}
