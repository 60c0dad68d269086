use inbox_core::Now;
use inbox_core::settle::DeadReason;
use inbox_core::store::{DeliveryState, LeaseLost, LeaseToken};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{
    Bench, DONE, Held, SECOND, all_at_once, dead, envelope, fail_after, patiently,
};

pub async fn a_lost_lease_does_not_keep_the_others_from_being_settled(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..4).map(|_| envelope("pay")).collect()).await;
    let lost = bench.lease("charge", 1).await.remove(0);
    bench.pass(SECOND);
    let held = bench.lease("charge", 3).await;
    bench.now = lost.expires_at;
    assert_eq!(bench.reclaim(10).await.returned(), 1);
    let settles = vec![
        held[2].settle(DONE),
        lost.settle(DONE),
        held[0].settle(fail_after(SECOND)),
        Held { token: LeaseToken::from_u128(7), ..lost.clone() }.settle(DONE),
        held[1].settle(dead(DeadReason::Undecodable)),
    ];
    let expected = [
        Ok(()),
        Err(LeaseLost(lost.token)),
        Ok(()),
        Err(LeaseLost(LeaseToken::from_u128(7))),
        Ok(()),
    ];
    assert_eq!(bench.settle_all(settles).await, expected, "in the order given");
    assert_eq!(bench.state(held[2].id()).await, DeliveryState::Completed);
    assert_eq!(bench.state(held[0].id()).await, DeliveryState::Waiting);
    assert_eq!(bench.state(held[1].id()).await, DeliveryState::Dead);
    assert_eq!(bench.state(lost.id()).await, DeliveryState::Pending);
}

pub async fn of_two_settlements_in_one_call_the_first_stands(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept_one(envelope("pay")).await;
    let held = bench.lease_one("charge").await;
    let settles = vec![held.settle(DONE), held.settle(fail_after(SECOND))];
    assert_eq!(bench.settle_all(settles).await, [Ok(()), Err(LeaseLost(held.token))]);
    let record = bench.show(held.id()).await;
    assert_eq!(record.deliveries[0].state, DeliveryState::Completed);
    assert_eq!(record.attempts, [], "the second left no trace");
}

pub async fn nothing_to_settle_is_nothing_answered(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    assert_eq!(bench.settle_all(Vec::new()).await, []);
}

pub async fn a_thousand_deliveries_are_settled_in_one_call(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..1_000).map(|_| envelope("pay")).collect()).await;
    let held = bench.lease("charge", 1_000).await;
    assert_eq!(held.len(), 1_000);
    let answers = bench.settle_all(held.iter().map(|held| held.settle(DONE)).collect()).await;
    assert!(answers.len() == 1_000 && answers.iter().all(Result::is_ok), "all are settled");
    let counts = bench.counts().await;
    assert_eq!((counts.len(), counts[0].state), (1, DeliveryState::Completed));
}

pub async fn of_many_settlements_at_once_one_wins(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept_one(envelope("pay")).await;
    let held = bench.lease_one("charge").await;
    let mut settling = Vec::new();
    for at in 0..16 {
        let bench = bench.other(database, "host-1").await;
        let settlement = if at % 2 == 0 { DONE } else { fail_after(SECOND) };
        let settles = vec![held.settle(settlement)];
        settling.push(async move {
            let call = || bench.store.settle(settles.clone(), Now::At(bench.now));
            (at % 2 == 0, patiently("settle", call).await[0].is_ok())
        });
    }
    let answers = all_at_once(settling).await;
    let winners: Vec<_> = answers.iter().filter(|(_, won)| *won).collect();
    assert_eq!(winners.len(), 1, "one settles it");
    let record = bench.show(held.id()).await;
    let completed = record.deliveries[0].state == DeliveryState::Completed;
    assert_eq!(completed, winners[0].0, "and as it said");
    assert_eq!(record.attempts.is_empty(), completed, "the others left no trace");
}
