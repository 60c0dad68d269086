use inbox_core::settle::DeadReason;
use inbox_core::store::{DeliveryCount, DeliveryState};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, HOLD, dead, envelope, fail_after};

pub async fn an_empty_store_counts_nothing(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    assert_eq!(bench.counts().await, []);
}

pub async fn counts_are_of_each_handler_and_state_and_sorted(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    for (contract, key) in [("paid", "ship"), ("paid", "book")] {
        bench.register(contract, key).await;
    }
    bench.accept((0..7).map(|_| envelope("paid")).collect()).await;
    bench.accept((0..2).map(|_| envelope("unrouted")).collect()).await;
    let held = bench.lease("ship", 6).await;
    let ends = [DONE, DONE, dead(DeadReason::Undecodable), fail_after(HOLD)];
    for (held, settlement) in held.iter().zip(ends) {
        bench.settled(held, settlement).await;
    }
    let count = |key: Option<&str>, state, count| DeliveryCount {
        handler_key: key.map(str::to_owned),
        state,
        count,
    };
    let expected = [
        count(None, DeliveryState::Waiting, 2),
        count(Some("book"), DeliveryState::Pending, 7),
        count(Some("ship"), DeliveryState::Pending, 1),
        count(Some("ship"), DeliveryState::Processing, 2),
        count(Some("ship"), DeliveryState::Waiting, 1),
        count(Some("ship"), DeliveryState::Dead, 1),
        count(Some("ship"), DeliveryState::Completed, 2),
    ];
    assert_eq!(bench.counts().await, expected);
}
