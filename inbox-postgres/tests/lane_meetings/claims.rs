//! Claims that meet at a lane that nobody holds.

use inbox::MessageId;
use inbox::settle::Settlement;

use crate::bench::{Bench, Held, ids};

/// Six of a lane that is in use and has no holder: its first one was given back.
async fn without_a_holder() -> (Bench, Vec<MessageId>) {
    let bench = Bench::new().await;
    let mut all = bench.fill(1).await;
    let held = bench.one.claim(1, 1).await;
    bench.one.settle(held[0], Settlement::Release).await;
    assert_eq!(bench.lanes().await, (1, 1));
    all.extend(bench.fill(5).await);
    (bench, all)
}

/// The rest of the lane is given to nobody until the run is settled, and then to the second worker.
async fn goes_on(bench: &Bench, run: Vec<Held>, rest: &[MessageId]) {
    for one in run {
        assert_eq!(ids(&bench.two.claim(1, 9).await), [], "some of the run are held");
        bench.one.complete(one).await;
    }
    bench.assert_over(&bench.two.claim(1, 9).await, rest).await;
}

#[tokio::test]
async fn of_two_claims_that_meet_at_a_new_lane_the_second_is_given_nothing_of_it() {
    let bench = Bench::new().await;
    let all = bench.fill(6).await;
    assert_eq!(bench.lanes().await, (0, 0));
    let barrier = bench.barrier().await;
    let first = bench.one.claiming(1, 3);
    bench.until_waiting(1).await;
    // The first has inserted the lane's row, and the second can do so only if the first is rolled back.
    let second = bench.two.claiming(1, 9);
    assert!(!bench.is_done(&second, 2).await, "nobody knows yet who has won it");
    barrier.batch_execute("COMMIT").await.unwrap();
    let held = first.await.unwrap();
    assert_eq!(ids(&held), all[..3]);
    assert_eq!(ids(&second.await.unwrap()), []);
    goes_on(&bench, held, &all[3..]).await;
}

#[tokio::test]
async fn a_claim_waits_for_no_lane_that_another_is_about_to_win() {
    let (bench, all) = without_a_holder().await;
    let barrier = bench.barrier().await;
    let first = bench.one.claiming(1, 3);
    bench.until_waiting(1).await;
    let second = bench.two.claiming(1, 9);
    assert!(bench.is_done(&second, 2).await, "it waits for the first");
    assert_eq!(ids(&second.await.unwrap()), []);
    barrier.batch_execute("COMMIT").await.unwrap();
    let held = first.await.unwrap();
    assert_eq!(ids(&held), all[..3]);
    goes_on(&bench, held, &all[3..]).await;
}

#[tokio::test]
async fn a_claim_that_saw_a_lane_free_takes_nothing_of_it_once_another_has_won_it() {
    let (bench, all) = without_a_holder().await;
    let barrier = bench.barrier_before_the_next_change().await;
    let second = bench.two.claiming(1, 9);
    bench.until_waiting(1).await;
    let held = bench.one.claim(1, 3).await;
    assert_eq!(ids(&held), all[..3]);
    barrier.batch_execute("COMMIT").await.unwrap();
    assert_eq!(ids(&second.await.unwrap()), []);
    goes_on(&bench, held, &all[3..]).await;
}
