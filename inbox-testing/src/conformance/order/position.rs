//! The position of a delivery in its lane: given once, and carried by every move.

use inbox_core::schedule::Start;
use inbox_core::settle::Settlement;

use crate::conformance::TestDatabase;
use crate::conformance::kit::{
    Bench, DONE, SECOND, accept_lane, drain, fail_after, ids, ordered, run_of, running,
};

pub async fn one_that_is_delayed_has_its_place_when_it_is_due(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut all = accept_lane(&bench, 1).await;
    let mut later = ordered("pay", "a");
    later.start = Start::After(SECOND);
    let later = bench.accept_one(later).await;
    all.extend(accept_lane(&bench, 2).await);
    bench.pass(SECOND);
    assert_eq!(bench.promote(10).await, 1);
    all.push(later);
    all.extend(accept_lane(&bench, 1).await);
    // From now on it keeps it.
    let held = run_of(&bench, 4).await;
    assert_eq!(ids(&held), all[..4]);
    bench.settled(&held[3], fail_after(SECOND)).await;
    bench.release(vec![held[0].token]).await;
    all.extend(accept_lane(&bench, 1).await);
    bench.pass(SECOND);
    assert_eq!(bench.promote(10).await, 1);
    assert_eq!(drain(&bench, vec![running("charge", 9, 9, 9)]).await, all);
}

pub async fn one_that_is_put_off_has_another_place_when_it_is_due(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let all = accept_lane(&bench, 4).await;
    for id in [all[0], all[2]] {
        assert_eq!(bench.reschedule(id, None, Start::After(SECOND)).await, 1);
    }
    bench.pass(SECOND / 2);
    let next = accept_lane(&bench, 1).await;
    assert_eq!(bench.reschedule(all[2], None, Start::Immediately).await, 1);
    bench.pass(SECOND);
    assert_eq!(bench.promote(10).await, 1);
    let last = accept_lane(&bench, 1).await;
    let expected = [all[1], all[3], next[0], all[2], all[0], last[0]];
    assert_eq!(ids(&run_of(&bench, 9).await), expected);
}

pub async fn a_retry_is_not_passed_by_what_came_later(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut all = accept_lane(&bench, 2).await;
    for moment in [None, Some(Start::Immediately), None] {
        let held = run_of(&bench, 1).await;
        assert_eq!(ids(&held), all[..1]);
        bench.settled(&held[0], fail_after(SECOND * 9)).await;
        all.extend(accept_lane(&bench, 1).await);
        assert!(run_of(&bench, 9).await.is_empty());
        if let Some(now) = moment {
            // Another moment, and the same place.
            assert_eq!(bench.reschedule(all[0], None, Start::After(SECOND)).await, 1);
            assert!(run_of(&bench, 9).await.is_empty());
            assert_eq!(bench.reschedule(all[0], None, now).await, 1);
        } else {
            bench.pass(SECOND * 9);
            assert_eq!(bench.promote(10).await, 1);
        }
    }
    all.extend(accept_lane(&bench, 1).await);
    assert_eq!(ids(&run_of(&bench, 9).await), all);
}

pub async fn what_had_no_route_takes_its_place_along(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let mut all = accept_lane(&bench, 3).await;
    bench.register("pay", "charge").await;
    all.extend(accept_lane(&bench, 2).await);
    let held = run_of(&bench, 2).await;
    assert_eq!(ids(&held), all[..2]);
    bench.settled(&held[1], Settlement::Release).await;
    bench.settled(&held[0], DONE).await;
    assert_eq!(ids(&run_of(&bench, 9).await), all[1..]);
}
