use inbox_core::settle::DeadReason;
use inbox_core::store::{DeliveryState, LaneFilter};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, SECOND, dead, lane, ordered};

pub async fn lanes_are_listed_with_their_heads_and_what_waits(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.register("ship", "pack").await;
    assert!(bench.lanes(LaneFilter::default()).await.is_empty());
    let first = bench.accept_one(ordered("pay", "a")).await;
    bench.accept(vec![ordered("pay", "a"), ordered("pay", "a")]).await;
    let held = bench.lease_one("charge").await;
    let since = bench.now;
    bench.pass(SECOND);
    bench.accept(vec![ordered("ship", "b")]).await;
    bench.lease_one("pack").await;
    let lanes = bench.lanes(LaneFilter::default()).await;
    assert_eq!(lanes.len(), 2);
    assert_eq!((&lanes[0].lane, &lanes[1].lane), (&lane("charge", "a"), &lane("pack", "b")));
    assert_eq!((lanes[0].head, lanes[0].state), (first, DeliveryState::Processing));
    assert_eq!((lanes[0].since, lanes[0].behind, lanes[1].behind), (since, 2, 0));
    let of_pack = LaneFilter { handler_key: Some("pack".to_owned()), ..LaneFilter::default() };
    assert_eq!(bench.lanes(of_pack).await, lanes[1..]);
    let one = LaneFilter { limit: Some(1), ..LaneFilter::default() };
    assert_eq!(bench.lanes(one).await, lanes[..1]);
    assert!(bench.lanes(LaneFilter::blocked()).await.is_empty());
    bench.settled(&held, DONE).await;
    let state = bench.lanes(LaneFilter::default()).await.into_iter().find(|l| l.behind == 1);
    assert_eq!(state.map(|lane| lane.state), Some(DeliveryState::Pending));
}

pub async fn a_lane_ends_with_its_last(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept_one(ordered("pay", "a")).await;
    bench.settled(&bench.lease_one("charge").await, DONE).await;
    assert!(bench.lanes(LaneFilter::default()).await.is_empty());
    bench.accept_one(ordered("pay", "a")).await;
    bench.lease_one("charge").await;
}

pub async fn a_blocked_lane_can_be_unblocked(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let first = bench.accept_one(ordered("pay", "a")).await;
    let second = bench.accept_one(ordered("pay", "a")).await;
    assert!(!bench.unblock(&lane("charge", "a")).await, "nobody is in it");
    let held = bench.lease_one("charge").await;
    assert!(!bench.unblock(&lane("charge", "a")).await, "its head is at work");
    bench.settled(&held, dead(DeadReason::AttemptsExhausted)).await;
    let blocked = bench.lanes(LaneFilter::blocked()).await;
    assert_eq!(blocked.len(), 1);
    assert_eq!((blocked[0].head, blocked[0].state), (first, DeliveryState::Dead));
    assert!(!bench.unblock(&lane("charge", "b")).await, "that is another one");
    assert!(bench.unblock(&blocked[0].lane).await);
    assert!(!bench.unblock(&blocked[0].lane).await, "once is enough");
    assert!(bench.lanes(LaneFilter::blocked()).await.is_empty());
    assert_eq!(bench.state(first).await, DeliveryState::Dead, "it stays where it is");
    let held = bench.lease_one("charge").await;
    assert_eq!(held.id(), second);
    assert!(bench.retry(first, "charge").await);
    bench.settled(&held, DONE).await;
    assert_eq!(bench.lease_one("charge").await.id(), first);
}

pub async fn nothing_is_mended_that_is_whole(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..4).map(|_| ordered("pay", "a")).collect()).await;
    bench.accept((0..2).map(|_| ordered("pay", "b")).collect()).await;
    assert_eq!(bench.mend(10).await, 0);
    let held = bench.lease("charge", 10).await;
    assert_eq!(bench.mend(10).await, 0);
    bench.settled(&held[0], dead(DeadReason::AttemptsExhausted)).await;
    bench.settled(&held[1], DONE).await;
    assert_eq!(bench.mend(10).await, 0);
    assert_eq!(bench.lease("charge", 10).await.len(), 1);
}
