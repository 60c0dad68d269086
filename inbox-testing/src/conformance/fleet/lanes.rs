//! Orphans that have an ordering key.

use inbox_core::message::{Envelope, MessageId};
use inbox_core::schedule::Priority;
use inbox_core::store::{DeliveryState, LaneFilter, OnDead, Route};

use super::orphans::{AT_ONCE, without_charge};
use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, envelope, ordered, route_of};

/// Gives up whatever is to be given up, and answers how many there were.
async fn give_up_all(bench: &Bench, limit: u32) -> u64 {
    let mut dead = 0;
    // What it passes by on its way is no end of it.
    for _ in 0..10 {
        dead += bench.give_up(AT_ONCE, limit).await;
    }
    dead
}

/// Works off all that can be, one after the other.
async fn run_all(bench: &Bench) -> Vec<MessageId> {
    let mut run = Vec::new();
    while let Some(held) = bench.lease("charge", 1).await.first() {
        run.push(held.id());
        bench.settled(held, DONE).await;
    }
    run
}

pub async fn an_orphan_with_an_ordering_key_blocks_its_lane(database: &dyn TestDatabase) {
    for limit in [10, 1] {
        let bench = without_charge(database).await;
        let first = bench.accept_one(ordered("pay", "a")).await;
        let second = bench.accept_one(ordered("pay", "a")).await;
        let keyless = bench.accept_one(envelope("pay")).await;
        assert_eq!(give_up_all(&bench, limit).await, 2, "the head, and what has no key");
        assert_eq!(bench.state(first).await, DeliveryState::Dead);
        assert_eq!(bench.state(keyless).await, DeliveryState::Dead);
        assert!(!bench.state(second).await.is_terminal(), "it has not had its turn");
        bench.announce(&["charge"]).await;
        let third = bench.accept_one(ordered("pay", "a")).await;
        assert!(bench.lease("charge", 10).await.is_empty(), "the lane is blocked");
        assert!(bench.retry(first, "charge").await);
        assert_eq!(run_all(&bench).await, [first, second, third]);
        assert_eq!(bench.mend(10).await, 0, "nothing was left behind");
    }
}

pub async fn the_oldest_orphan_of_a_lane_is_its_head_whatever_is_more_urgent(
    database: &dyn TestDatabase,
) {
    for (one, other) in [(Priority::Low, Priority::High), (Priority::High, Priority::Low)] {
        let bench = without_charge(database).await;
        let lane = |priority| Envelope { priority, ..ordered("pay", "a") };
        let first = bench.accept_one(lane(one)).await;
        let second = bench.accept_one(lane(other)).await;
        assert_eq!(give_up_all(&bench, 1).await, 1);
        assert_eq!(bench.state(first).await, DeliveryState::Dead);
        bench.announce(&["charge"]).await;
        assert!(bench.retry(first, "charge").await);
        assert_eq!(run_all(&bench).await, [first, second]);
    }
}

pub async fn an_orphan_whose_lane_is_unblocked_lets_it_go_on(database: &dyn TestDatabase) {
    let bench = without_charge(database).await;
    let first = bench.accept_one(ordered("pay", "a")).await;
    let second = bench.accept_one(ordered("pay", "a")).await;
    assert_eq!(give_up_all(&bench, 10).await, 1);
    bench.announce(&["charge"]).await;
    let lanes = bench.lanes(LaneFilter::blocked()).await;
    assert_eq!(lanes.iter().map(|lane| lane.head).collect::<Vec<_>>(), [first]);
    assert!(bench.unblock(&lanes[0].lane).await);
    assert_eq!(run_all(&bench).await, [second]);
}

pub async fn orphans_of_a_renamed_handler_keep_the_turns_of_its_lanes(database: &dyn TestDatabase) {
    let bench = without_charge(database).await;
    let first = bench.accept_one(ordered("pay", "a")).await;
    bench.register_all(vec![route_of("pay", "charge-card", &["charge"])]).await;
    let second = bench.accept_one(ordered("pay", "a")).await;
    let other = bench.other(database, "host-2").await;
    other.announce(&["charge"]).await;
    assert_eq!(give_up_all(&bench, 10).await, 0, "it is after one that somebody serves");
    assert_eq!(run_all(&bench).await, [first]);
    assert_eq!(give_up_all(&bench, 10).await, 1, "now its turn has come");
    assert_eq!(bench.state(second).await, DeliveryState::Dead);
}

pub async fn an_orphan_under_an_earlier_key_blocks_what_is_under_the_new_one(
    database: &dyn TestDatabase,
) {
    let bench = without_charge(database).await;
    let first = bench.accept_one(ordered("pay", "a")).await;
    bench.register_all(vec![route_of("pay", "charge-card", &["charge"])]).await;
    bench.accept_one(ordered("pay", "a")).await;
    bench.announce(&["charge-card"]).await;
    assert_eq!(give_up_all(&bench, 10).await, 1);
    assert_eq!(bench.state(first).await, DeliveryState::Dead);
    assert!(bench.lease("charge-card", 10).await.is_empty(), "the lane is blocked");
}

pub async fn what_waits_behind_a_lane_is_no_orphan(database: &dyn TestDatabase) {
    let bench = without_charge(database).await;
    let first = bench.accept_one(ordered("pay", "a")).await;
    let second = bench.accept_one(ordered("pay", "a")).await;
    let held = bench.lease_one("charge").await;
    assert_eq!(give_up_all(&bench, 10).await, 0, "its head is held");
    bench.settled(&held, DONE).await;
    assert_eq!(give_up_all(&bench, 10).await, 1, "now its turn has come");
    assert_eq!(bench.state(first).await, DeliveryState::Completed);
    assert_eq!(bench.state(second).await, DeliveryState::Dead);
}

pub async fn an_orphan_lets_its_lane_go_on_where_its_route_says_so(database: &dyn TestDatabase) {
    let bench = without_charge(database).await;
    let blocked = bench.accept_one(ordered("pay", "b")).await;
    bench.accept_one(ordered("pay", "b")).await;
    assert_eq!(give_up_all(&bench, 10).await, 1, "the route says nothing of it");
    // A program that registers it again says so.
    let passing = Route { on_dead: OnDead::Skip, ..route_of("pay", "charge", &[]) };
    bench.register_all(vec![passing]).await;
    let mut all = Vec::new();
    for _ in 0..3 {
        all.push(bench.accept_one(ordered("pay", "a")).await);
    }
    assert_eq!(give_up_all(&bench, 1).await, 3, "one after the other");
    for id in &all {
        assert_eq!(bench.state(*id).await, DeliveryState::Dead);
    }
    let lanes = bench.lanes(LaneFilter::blocked()).await;
    assert_eq!(lanes.iter().map(|lane| lane.head).collect::<Vec<_>>(), [blocked]);
    bench.announce(&["charge"]).await;
    let next = bench.accept_one(ordered("pay", "a")).await;
    assert!(bench.retry(all[0], "charge").await, "it goes to the end");
    assert_eq!(run_all(&bench).await, [next, all[0]]);
}
