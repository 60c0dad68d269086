//! What a claim takes of a lane that it wins.

use std::collections::BTreeMap;

use inbox_core::message::MessageId;
use inbox_core::schedule::Priority;
use inbox_core::store::{DeliveryState, LaneFilter};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{
    Bench, DONE, Held, SECOND, accept_lane, drain, envelope, ids, lane, ordered, run_of, running,
};

pub async fn a_run_is_the_oldest_of_a_lane_in_their_order(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let other = bench.other(database, "host-2").await;
    bench.register("pay", "charge").await;
    let all = accept_lane(&bench, 8).await;
    let held = run_of(&bench, 5).await;
    assert_eq!(ids(&held), all[..5]);
    assert!(held.iter().all(|one| one.token == held[0].token), "one lease holds them");
    assert!(held.iter().all(|one| one.delivery.attempt == 1 && one.delivery.shares.lane));
    for (nth, one) in held.iter().enumerate() {
        assert!(run_of(&other, 5).await.is_empty(), "{nth} of 5 are settled");
        bench.settled(one, DONE).await;
    }
    let held = run_of(&other, 5).await;
    assert_eq!(ids(&held), all[5..]);
    let settles = held.iter().map(|held| held.settle(DONE)).collect();
    assert!(other.settle_all(settles).await.iter().all(Result::is_ok));
    assert!(bench.lanes(LaneFilter::default()).await.is_empty(), "the lane has ended");
}

/// The deliveries of each ordering key, in the order of the answer.
fn by_key(held: &[Held]) -> BTreeMap<String, Vec<MessageId>> {
    let mut runs = BTreeMap::<_, Vec<_>>::new();
    for one in held {
        let key = one.delivery.message.ordering_key.clone().unwrap_or_default();
        runs.entry(key).or_default().push(one.id());
    }
    runs
}

pub async fn many_lanes_give_width_and_few_give_depth(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut lanes = BTreeMap::<String, Vec<MessageId>>::new();
    for nth in 0..24 {
        let key = format!("key-{}", nth % 4);
        let id = bench.accept_one(ordered("pay", &key)).await;
        lanes.entry(key).or_default().push(id);
    }
    // Limit, lanes and length of a claim, and how many it takes of how many lanes.
    for (limit, most, length, won, each) in [
        (8, 9, 9, 4, 2),
        (8, 2, 9, 2, 4),
        (8, 2, 3, 2, 3),
        (2, 9, 9, 2, 1),
        (100, 1, 100, 1, 6),
        (3, 9, 9, 3, 1),
        (100, 9, 1, 4, 1),
    ] {
        let held = bench.lease_wanted(vec![running("charge", limit, most, length)]).await;
        let runs = by_key(&held);
        assert_eq!(runs.len(), won, "{limit} of {most} lanes: {runs:?}");
        for (key, run) in &runs {
            assert_eq!(*run, lanes[key][..each], "{limit} of {most} lanes: {runs:?}");
        }
        assert!(bench.release(vec![held[0].token]).await > 0);
    }
}

pub async fn a_run_leaves_room_for_what_has_no_ordering_key(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let all = accept_lane(&bench, 10).await;
    let mut free = Vec::new();
    for _ in 0..3 {
        free.push(bench.accept_one(envelope("pay")).await);
    }
    let held = bench.lease_wanted(vec![running("charge", 5, 9, 9)]).await;
    let mut runs = by_key(&held);
    let keyless = runs.remove("").unwrap_or_default();
    assert_eq!((keyless, runs.remove("a")), (free, Some(all[..2].to_vec())));
}

pub async fn lanes_that_a_claim_does_not_win_are_in_nobodys_way(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    for nth in 0..20 {
        bench.accept_one(ordered("pay", &format!("key-{}", nth % 10))).await;
    }
    let mut free = Vec::new();
    for _ in 0..2 {
        free.push(bench.accept_one(envelope("pay")).await);
    }
    let held = bench.lease_wanted(vec![running("charge", 4, 1, 9)]).await;
    let mut runs = by_key(&held);
    assert_eq!(runs.remove(""), Some(free), "in one call");
    let lengths: Vec<_> = runs.values().map(Vec::len).collect();
    assert_eq!(lengths, [2], "one lane, as deep as it is");
    // Two workers never win the same lane.
    let mut keys = runs.into_keys().collect::<Vec<_>>();
    for _ in 1..10 {
        let held = bench.lease_wanted(vec![running("charge", 4, 1, 9)]).await;
        keys.extend(by_key(&held).into_keys());
    }
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 10, "each lane is won once");
    assert!(bench.lease_wanted(vec![running("charge", 4, 1, 9)]).await.is_empty());
}

pub async fn a_run_is_of_what_is_ready_and_what_waits_behind_the_lane(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let other = bench.other(database, "host-2").await;
    bench.register("pay", "charge").await;
    let mut all = accept_lane(&bench, 3).await;
    let first = run_of(&bench, 1).await;
    // It meets those behind the first, and puts them wherever it does.
    assert!(run_of(&other, 9).await.is_empty());
    all.extend(accept_lane(&bench, 2).await);
    let behind = bench.lanes(LaneFilter::default()).await;
    assert_eq!(behind.len(), 1);
    let state = (&behind[0].lane, behind[0].head, behind[0].state, behind[0].behind);
    assert_eq!(state, (&lane("charge", "a"), all[0], DeliveryState::Processing, 4));
    bench.settled(&first[0], DONE).await;
    all.extend(accept_lane(&bench, 1).await);
    let held = run_of(&other, 4).await;
    assert_eq!(ids(&held), all[1..5]);
    let lanes = bench.lanes(LaneFilter::default()).await;
    assert_eq!((lanes[0].head, lanes[0].behind), (all[1], 4), "all others of the lane");
    for one in &held {
        other.settled(one, DONE).await;
    }
    assert_eq!(drain(&bench, vec![running("charge", 9, 9, 9)]).await, all[5..]);
}

pub async fn a_run_knows_no_priorities(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut all = Vec::new();
    for priority in [Priority::Low, Priority::Urgent, Priority::Normal, Priority::High] {
        let mut envelope = ordered("pay", "a");
        envelope.priority = priority;
        all.push(bench.accept_one(envelope).await);
        bench.pass(SECOND);
    }
    assert_eq!(ids(&run_of(&bench, 9).await), all);
}

pub async fn a_lane_of_which_all_are_cancelled_is_free(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let all = accept_lane(&bench, 4).await;
    let held = run_of(&bench, 2).await;
    for id in &all {
        bench.cancel(*id, None).await;
    }
    assert_eq!(bench.release(vec![held[0].token]).await, 0, "nothing goes on");
    assert!(run_of(&bench, 9).await.is_empty());
    assert!(bench.lanes(LaneFilter::default()).await.is_empty(), "nobody is left");
    assert_eq!(bench.mend(10).await, 0);
    let next = accept_lane(&bench, 2).await;
    assert_eq!(ids(&run_of(&bench, 9).await), next);
}
