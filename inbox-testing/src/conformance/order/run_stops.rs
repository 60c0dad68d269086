//! What becomes of a run in which one comes to no good end.

use inbox_core::message::MessageId;
use inbox_core::settle::{DeadReason, DoneOutcome, Settlement};
use inbox_core::store::{Cancelled, DeliveryState, LaneFilter};

use super::dead::passing;
use crate::conformance::TestDatabase;
use crate::conformance::kit::{
    Bench, DONE, HOLD, SECOND, accept_lane, dead, drain, fail_after, ids, lane, run_of, running,
};

/// In which orders a worker settles a run of five: its own, against it, and some others.
const TURNS: [[usize; 5]; 5] =
    [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 1, 3, 4], [3, 2, 4, 0, 1], [2, 4, 1, 3, 0]];

/// Of a run of five with one more behind it, two are done, the third is settled as is said, and two are given
/// back. Nobody is given one of the lane meanwhile.
async fn stopped(
    bench: &Bench,
    third: &Settlement,
    turns: [usize; 5],
    at_once: bool,
) -> Vec<MessageId> {
    let all = accept_lane(bench, 6).await;
    let held = run_of(bench, 5).await;
    assert_eq!(ids(&held), all[..5]);
    let settlements = [DONE, DONE, third.clone(), Settlement::Release, Settlement::Release];
    let settles = turns.map(|turn| held[turn].settle(settlements[turn].clone()));
    if at_once {
        let answers = bench.settle_all(settles.to_vec()).await;
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        return all;
    }
    for settle in settles {
        assert!(run_of(bench, 9).await.is_empty(), "some of the run are held: {turns:?}");
        assert!(bench.settle_all(vec![settle]).await[0].is_ok());
    }
    all
}

/// All ways to settle such a run.
fn ways() -> impl Iterator<Item = ([usize; 5], bool)> {
    TURNS.into_iter().flat_map(|turns| [(turns, false), (turns, true)])
}

pub async fn nobody_passes_one_of_a_run_that_is_tried_again(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    for (turns, at_once) in ways() {
        let all = stopped(&bench, &fail_after(SECOND), turns, at_once).await;
        assert!(run_of(&bench, 9).await.is_empty(), "it waits for its retry: {turns:?}");
        let lanes = bench.lanes(LaneFilter::default()).await;
        let found = (lanes.len(), lanes[0].head, lanes[0].state, lanes[0].behind);
        assert_eq!(found, (1, all[2], DeliveryState::Waiting, 3), "{turns:?}");
        bench.pass(SECOND);
        assert_eq!(bench.promote(10).await, 1);
        let run = drain(&bench, vec![running("charge", 9, 9, 2)]).await;
        assert_eq!(run, all[2..], "{turns:?}, at once: {at_once}");
    }
}

pub async fn nobody_passes_one_of_a_run_that_is_dead_and_blocks(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    for (nth, (turns, at_once)) in ways().enumerate() {
        let all = stopped(&bench, &dead(DeadReason::Undecodable), turns, at_once).await;
        assert!(run_of(&bench, 9).await.is_empty(), "the lane is blocked: {turns:?}");
        let lanes = bench.lanes(LaneFilter::blocked()).await;
        assert_eq!((lanes.len(), lanes[0].head, lanes[0].behind), (1, all[2], 3), "{turns:?}");
        let rest = if nth % 3 == 0 {
            assert!(bench.unblock(&lane("charge", "a")).await);
            &all[3..]
        } else {
            assert!(bench.retry(all[2], "charge").await);
            &all[2..]
        };
        let run = drain(&bench, vec![running("charge", 9, 9, 2)]).await;
        assert_eq!(run, rest, "{turns:?}, at once: {at_once}");
    }
}

pub async fn a_run_goes_on_after_one_that_is_dead_and_lets_others_pass(
    database: &dyn TestDatabase,
) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let all = accept_lane(&bench, 6).await;
    let mut wanted = running("charge", 9, 9, 5);
    wanted.terms.on_dead = passing("charge").terms.on_dead;
    let held = bench.lease_wanted(vec![wanted]).await;
    assert_eq!(ids(&held), all[..5]);
    for (nth, one) in held.iter().enumerate() {
        assert!(run_of(&bench, 9).await.is_empty(), "{nth} of 5 are settled");
        let settlement = if nth == 2 { dead(DeadReason::Undecodable) } else { DONE };
        bench.settled(one, settlement).await;
    }
    assert!(bench.lanes(LaneFilter::blocked()).await.is_empty());
    assert!(bench.retry(all[2], "charge").await, "others have passed it");
    assert_eq!(ids(&run_of(&bench, 9).await), [all[5], all[2]]);
}

pub async fn a_run_is_settled_to_its_end_beside_one_that_failed(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let all = accept_lane(&bench, 6).await;
    let held = run_of(&bench, 5).await;
    bench.settled(&held[2], fail_after(SECOND)).await;
    bench.pass(SECOND);
    assert_eq!(bench.promote(10).await, 1, "ready again, while others of its run are held");
    for nth in [0, 1, 3, 4] {
        assert!(run_of(&bench, 9).await.is_empty(), "others are held");
        bench.settled(&held[nth], DONE).await;
    }
    assert_eq!(ids(&run_of(&bench, 9).await), [all[2], all[5]]);
}

pub async fn a_released_run_comes_back_first_and_in_its_order(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut all = accept_lane(&bench, 6).await;
    for length in [4, 5, 3, 6] {
        let held = run_of(&bench, length).await;
        assert_eq!(ids(&held), all[..length as usize]);
        assert!(held.iter().all(|one| one.delivery.attempt == 1), "none was counted");
        all.extend(accept_lane(&bench, 1).await);
        assert_eq!(bench.release(vec![held[0].token]).await, u64::from(length));
    }
    let held = run_of(&bench, 4).await;
    for turn in [3, 0, 2, 1] {
        assert!(run_of(&bench, 9).await.is_empty(), "some are held");
        bench.settled(&held[turn], Settlement::Release).await;
    }
    assert_eq!(drain(&bench, vec![running("charge", 9, 9, 3)]).await, all);
}

pub async fn one_of_a_run_is_cancelled_alone(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let all = accept_lane(&bench, 11).await;
    let held = run_of(&bench, 10).await;
    let asked = Cancelled { at_once: 0, asked: 1 };
    assert_eq!(bench.cancel(all[2], None).await, asked);
    let renewed = bench.renew_fully(vec![held[0].token], HOLD).await.remove(0);
    assert_eq!(renewed.map(|renewed| renewed.cancelled), Ok(vec![all[2]]));
    for (nth, one) in held.iter().enumerate() {
        assert!(run_of(&bench, 9).await.is_empty(), "{nth} of 10 are settled");
        match nth {
            2 => {
                let answer = bench.settle(one, fail_after(SECOND)).await;
                assert_eq!(answer, Ok(DeliveryState::Cancelled));
            }
            5 => bench.settled(one, Settlement::Done(DoneOutcome::Expired)).await,
            _ => bench.settled(one, DONE).await,
        }
    }
    bench.pass(SECOND);
    assert_eq!(bench.promote(10).await, 0, "it is not tried again");
    assert_eq!(ids(&run_of(&bench, 9).await), all[10..]);
}
