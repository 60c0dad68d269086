use std::time::Duration;

use inbox_core::store::DeliveryState;

use crate::conformance::TestDatabase;
use crate::conformance::kit::{ALIVE, Bench, HOLD, SECOND, envelope};

/// Several times as long as a host counts as alive.
const GRACE: Duration = Duration::from_mins(10);

/// Between two looks of a fleet.
const LOOK: Duration = Duration::from_secs(10);

/// `charge` has a route and no host, `send` has a host.
async fn without_charge(database: &dyn TestDatabase) -> Bench {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.announce(&["send"]).await;
    bench
}

/// For so long a host without the key is there and looks. Answers what it gave up.
async fn look_for(bench: &mut Bench, time: Duration) -> u64 {
    let end = bench.later(time);
    let mut given_up = 0;
    loop {
        bench.announce(&["send"]).await;
        given_up += bench.give_up(GRACE, 10).await;
        if bench.now >= end {
            return given_up;
        }
        bench.now = end.min(bench.later(LOOK));
    }
}

pub async fn the_grace_begins_when_an_orphan_is_first_seen(database: &dyn TestDatabase) {
    let mut bench = without_charge(database).await;
    let old = bench.accept_one(envelope("pay")).await;
    bench.pass(GRACE * 10);
    let instant = Duration::from_micros(1);
    assert_eq!(
        look_for(&mut bench, GRACE.saturating_sub(instant)).await,
        0,
        "its age does not matter"
    );
    let young = bench.accept_one(envelope("pay")).await;
    bench.pass(instant);
    assert_eq!(bench.give_up(GRACE, 10).await, 2, "nor does its youth");
    for id in [old, young] {
        assert_eq!(bench.state(id).await, DeliveryState::Dead);
    }
}

pub async fn the_grace_begins_anew_when_a_host_with_the_key_was_there(database: &dyn TestDatabase) {
    let mut bench = without_charge(database).await;
    bench.accept_one(envelope("pay")).await;
    assert_eq!(look_for(&mut bench, GRACE.saturating_sub(SECOND)).await, 0);
    // For a moment, between two looks, and without taking anything.
    let other = bench.other(database, "host-2").await;
    other.announce(&["charge"]).await;
    other.leave().await;
    assert_eq!(look_for(&mut bench, GRACE.saturating_sub(SECOND)).await, 0);
    assert_eq!(look_for(&mut bench, SECOND).await, 1);
}

pub async fn the_grace_stands_still_while_no_host_is_alive(database: &dyn TestDatabase) {
    let mut bench = without_charge(database).await;
    let id = bench.accept_one(envelope("pay")).await;
    assert_eq!(look_for(&mut bench, GRACE / 2).await, 0);
    // A weekend, after which one without the key comes back.
    bench.pass(GRACE * 100);
    assert_eq!(bench.give_up(GRACE, 10).await, 0, "nobody is there");
    bench.pass(SECOND);
    assert_eq!(look_for(&mut bench, (GRACE / 2).saturating_sub(LOOK)).await, 0);
    assert_eq!(bench.state(id).await, DeliveryState::Pending);
    assert_eq!(look_for(&mut bench, LOOK * 2).await, 1);
}

pub async fn without_any_host_nothing_is_an_orphan(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    for _ in 0..3 {
        assert_eq!(bench.give_up(Duration::ZERO, 10).await, 0);
        bench.pass(ALIVE);
    }
    assert_eq!(bench.state(id).await, DeliveryState::Pending);
}

pub async fn what_is_ready_after_all_was_drained_has_a_grace_of_its_own(
    database: &dyn TestDatabase,
) {
    let mut bench = without_charge(database).await;
    bench.accept_one(envelope("pay")).await;
    assert_eq!(look_for(&mut bench, GRACE).await, 1);
    assert_eq!(look_for(&mut bench, HOLD).await, 0);
    let next = bench.accept_one(envelope("pay")).await;
    assert_eq!(look_for(&mut bench, GRACE.saturating_sub(SECOND)).await, 0);
    assert_eq!(bench.state(next).await, DeliveryState::Pending);
    assert_eq!(look_for(&mut bench, SECOND).await, 1);
}

pub async fn the_longest_grace_is_never_over(database: &dyn TestDatabase) {
    let mut bench = without_charge(database).await;
    bench.accept_one(envelope("pay")).await;
    for _ in 0..3 {
        assert_eq!(bench.give_up(Duration::MAX, 10).await, 0);
        bench.pass(LOOK);
    }
}
