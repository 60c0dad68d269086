use inbox_core::settle::{DeadReason, Settlement};

use super::{limited, per_key, sharing};
use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, HOLD, Held, SECOND, dead, fail_after};

/// The one that a limit of one lets through, by the fleet or by key in turn.
async fn the_one(bench: &Bench, nth: usize) -> Held {
    let wanted = [limited("charge", 1), per_key("charge", 1)][nth % 2].clone();
    let mut held = bench.lease_wanted(vec![wanted.clone()]).await;
    assert_eq!(held.len(), 1, "there is room for one");
    let more = bench.lease_wanted(vec![wanted]).await;
    assert!(more.is_empty(), "there is room for one only: {more:?}");
    held.remove(0)
}

pub async fn whatever_ends_a_lease_makes_room_for_another(database: &dyn TestDatabase) {
    for nth in 0..2 {
        let mut bench = Bench::open(database).await;
        bench.pass(HOLD * 10 * u32::try_from(nth).unwrap_or(0));
        bench.register("pay", "charge").await;
        for _ in 0..6 {
            bench.accept_one(sharing("pay", "x")).await;
        }
        let held = the_one(&bench, nth).await;
        bench.settled(&held, DONE).await;
        let held = the_one(&bench, nth).await;
        bench.settled(&held, fail_after(HOLD * 100)).await;
        let held = the_one(&bench, nth).await;
        bench.settled(&held, dead(DeadReason::Undecodable)).await;
        let held = the_one(&bench, nth).await;
        bench.settled(&held, Settlement::Release).await;
        let held = the_one(&bench, nth).await;
        assert_eq!(bench.release(vec![held.token]).await, 1);
        let held = the_one(&bench, nth).await;
        bench.cancel(held.id(), None).await;
        assert_eq!(bench.release(vec![held.token]).await, 0);
        let held = the_one(&bench, nth).await;
        bench.pass(HOLD);
        bench.reclaim(10).await;
        let again = the_one(&bench, nth).await;
        assert!(bench.settle(&held, DONE).await.is_err(), "its lease was lost");
        let none = bench.lease_wanted(vec![limited("charge", 1)]).await;
        assert!(none.is_empty(), "so it makes no room either");
        bench.settled(&again, DONE).await;
        while let [held] = bench.lease_wanted(vec![limited("charge", 1)]).await.as_slice() {
            bench.settled(held, DONE).await;
        }
        assert_eq!(bench.mend(10).await, 0, "nothing was left behind");
    }
}

pub async fn an_expired_lease_takes_its_room_until_it_is_reclaimed(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let other = bench.other(database, "host-2").await;
    bench.register("pay", "charge").await;
    for _ in 0..2 {
        bench.accept_one(sharing("pay", "x")).await;
    }
    the_one(&bench, 1).await;
    bench.pass(HOLD);
    let mut other = other;
    other.pass(HOLD);
    assert!(other.lease_wanted(vec![per_key("charge", 1)]).await.is_empty());
    assert_eq!(other.reclaim(10).await.returned(), 1);
    let again = the_one(&other, 1).await;
    other.settled(&again, DONE).await;
    other.settled(&the_one(&other, 1).await, DONE).await;
}

pub async fn one_that_waits_for_room_can_be_cancelled(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut all = Vec::new();
    for _ in 0..4 {
        all.push(bench.accept_one(sharing("pay", "x")).await);
    }
    let held = the_one(&bench, 1).await;
    assert_eq!(bench.cancel(all[1], None).await.at_once, 1);
    bench.settled(&held, DONE).await;
    let held = the_one(&bench, 1).await;
    assert_eq!(held.id(), all[2]);
    bench.settled(&held, fail_after(SECOND)).await;
    // Ready, and not leased: the next one is not forgotten with it.
    assert_eq!(bench.cancel(all[3], None).await.at_once, 1);
    bench.pass(SECOND);
    bench.promote(10).await;
    assert_eq!(the_one(&bench, 1).await.id(), all[2]);
}
