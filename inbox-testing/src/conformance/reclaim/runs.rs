//! A worker that vanished in the middle of a run.

use inbox_core::store::{DeliveryState, LaneFilter, LeaseRequest, Wanted};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{
    Bench, DONE, HOLD, SECOND, accept_lane, envelope, fail_after, ids, ordered, run_of, running,
};

pub async fn of_a_run_nobody_knows_who_had_begun_and_then_the_first_that_is_held_is_accused(
    database: &dyn TestDatabase,
) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let all = accept_lane(&bench, 7).await;
    let held = run_of(&bench, 6).await;
    bench.settled(&held[0], DONE).await;
    bench.settled(&held[1], DONE).await;
    bench.pass(HOLD);
    let mut reclaimed = bench.reclaim(10).await.deliveries;
    reclaimed.sort_by_key(|one| all.iter().position(|id| *id == one.message_id));
    let found: Vec<_> =
        reclaimed.iter().map(|one| (one.message_id, one.attempts, one.crashes)).collect();
    assert_eq!(found, [(all[2], 0, 1), (all[3], 0, 1), (all[4], 0, 1), (all[5], 0, 1)]);
    assert!(reclaimed.iter().all(|one| one.state == DeliveryState::Pending), "{reclaimed:?}");
    for (nth, id) in all.iter().enumerate() {
        let attempts = bench.show(*id).await.attempts;
        assert_eq!(attempts.len(), usize::from(nth == 2), "the first one had begun: {attempts:?}");
    }
    let held = run_of(&bench, 9).await;
    assert_eq!(ids(&held), all[2..], "in the order they had");
    assert!(held.iter().all(|one| one.delivery.attempt == 1), "nothing was counted");
    let crashes: Vec<_> = held.iter().map(|one| one.delivery.crashes).collect();
    assert_eq!(crashes, [1, 1, 1, 1, 0], "and its next worker is told");
    // So it settles each before it begins the next one.
    bench.settled(&held[0], DONE).await;
    bench.pass(HOLD);
    let mut reclaimed = bench.reclaim(10).await.deliveries;
    reclaimed.sort_by_key(|one| all.iter().position(|id| *id == one.message_id));
    let crashes: Vec<_> = reclaimed.iter().map(|one| one.crashes).collect();
    assert_eq!(crashes, [2, 1, 1, 0]);
}

pub async fn wherever_its_worker_vanishes_a_run_goes_on_from_there(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    for settled in 0..=6 {
        let all = accept_lane(&bench, 6).await;
        let lost = run_of(&bench, 6).await;
        assert_eq!(ids(&lost), all);
        for one in &lost[..settled] {
            bench.settled(one, DONE).await;
        }
        bench.pass(HOLD);
        let other = bench.other(database, "host-2").await;
        assert!(run_of(&other, 9).await.is_empty(), "not reclaimed yet: {settled} of 6");
        assert_eq!(other.reclaim(10).await.returned(), 6 - settled as u64);
        for one in &lost {
            assert!(
                bench.settle(one, DONE).await.is_err(),
                "it is settled or lost: {settled} of 6"
            );
        }
        let held = run_of(&other, 9).await;
        assert_eq!(ids(&held), all[settled..], "{settled} of 6");
        assert!(held.iter().all(|one| one.delivery.attempt == 1), "nothing was counted");
        for one in &held {
            assert!(run_of(&bench, 9).await.is_empty(), "some are held: {settled} of 6");
            other.settled(one, DONE).await;
        }
        assert!(bench.lanes(LaneFilter::default()).await.is_empty(), "{settled} of 6");
        for id in all {
            let found = bench.delivery(id).await;
            assert_eq!((found.state, found.attempts), (DeliveryState::Completed, 1));
        }
    }
    assert_eq!(bench.mend(10).await, 0, "nothing was left behind");
}

pub async fn of_several_runs_each_has_one_that_had_begun(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut all = accept_lane(&bench, 3).await;
    for _ in 0..3 {
        all.push(bench.accept_one(ordered("pay", "b")).await);
    }
    for _ in 0..2 {
        all.push(bench.accept_one(envelope("pay")).await);
    }
    assert_eq!(bench.lease_wanted(vec![running("charge", 20, 9, 9)]).await.len(), 8);
    bench.pass(HOLD);
    let mut reclaimed = bench.reclaim(10).await.deliveries;
    reclaimed.sort_by_key(|one| all.iter().position(|id| *id == one.message_id));
    assert!(reclaimed.iter().all(|one| one.crashes == 1), "{reclaimed:?}");
    let mut recorded = Vec::new();
    for id in &all {
        recorded.push(bench.show(*id).await.attempts.len());
    }
    assert_eq!(recorded, [1, 0, 0, 1, 0, 0, 1, 1], "and what has no ordering key");
}

pub async fn a_run_that_is_reclaimed_in_pages_keeps_its_order(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    for page in [1, 2, 3] {
        let all = accept_lane(&bench, 6).await;
        let held = run_of(&bench, 5).await;
        bench.pass(HOLD);
        let mut reclaimed = Vec::new();
        while reclaimed.len() < 5 {
            assert!(run_of(&bench, 9).await.is_empty(), "a part of it is held");
            let part = bench.reclaim(page).await.deliveries;
            assert!(!part.is_empty() && part.len() <= page as usize, "{part:?}");
            reclaimed.extend(part);
        }
        assert!(bench.settle(&held[0], DONE).await.is_err(), "its lease is lost");
        assert!(reclaimed.iter().all(|one| one.crashes == 1), "{reclaimed:?}");
        let recorded = bench.show(all[0]).await.attempts.len();
        assert_eq!(recorded, 1, "in pages of {page}");
        let held = run_of(&bench, 9).await;
        assert_eq!(ids(&held), all, "in pages of {page}");
        for one in &held {
            bench.settled(one, DONE).await;
        }
    }
}

pub async fn a_run_reclaimed_in_part_is_settled_to_its_end(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let all = accept_lane(&bench, 5).await;
    let held = run_of(&bench, 4).await;
    bench.pass(HOLD);
    assert_eq!(bench.reclaim(2).await.returned(), 2);
    // Whichever are left, it may not pass those that were taken from it.
    let mut left = Vec::new();
    for one in &held {
        assert!(run_of(&bench, 9).await.is_empty(), "two are held");
        if bench.settle(one, DONE).await.is_ok() {
            left.push(one.id());
        }
        if left.len() == 2 {
            break;
        }
    }
    assert_eq!(left, all[..2], "the last ones are taken first");
    assert_eq!(ids(&run_of(&bench, 9).await), all[2..]);
}

pub async fn a_cancelled_one_of_a_vanished_run_is_done(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let all = accept_lane(&bench, 4).await;
    run_of(&bench, 4).await;
    bench.cancel(all[1], None).await;
    bench.pass(HOLD);
    let reclaimed = bench.reclaim(10).await;
    assert_eq!((reclaimed.returned(), reclaimed.cancelled()), (3, 1));
    assert_eq!(ids(&run_of(&bench, 9).await), [all[0], all[2], all[3]]);
}

pub async fn one_of_a_run_that_takes_every_worker_down_is_dead_alone(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let all = accept_lane(&bench, 4).await;
    bench.settled(&run_of(&bench, 1).await[0], fail_after(SECOND)).await;
    bench.pass(SECOND);
    assert_eq!(bench.promote(10).await, 1);
    let once = || {
        let wanted = running("charge", 9, 9, 9);
        Wanted { max_crashes: std::num::NonZeroU32::MIN, ..wanted }
    };
    for expected in [4, 4, 1] {
        let request = LeaseRequest {
            quarantine: std::num::NonZeroU32::new(9),
            ..bench.request(vec![once()])
        };
        let held = bench.lease_requested(request).await;
        assert_eq!(ids(&held), all[..expected]);
        bench.pass(HOLD);
        bench.reclaim(10).await;
    }
    assert_eq!(bench.state(all[0]).await, DeliveryState::Dead);
    assert_ne!(bench.state(all[1]).await, DeliveryState::Dead);
    assert!(run_of(&bench, 9).await.is_empty(), "it blocks its lane");
    assert!(bench.retry(all[0], "charge").await);
    assert_eq!(ids(&run_of(&bench, 9).await), all);
}
