//! Claims that meet a lane while its run ends: what they find behind it has its turn at once.

use inbox::MessageId;
use inbox::postgres::tokio_postgres::Client;
use tokio::task::JoinHandle;

use crate::bench::{Bench, Held, ids};

/// So many of a lane: the first worker holds the first, and the others are ready.
async fn held(count: usize) -> (Bench, Held, Vec<MessageId>) {
    let bench = Bench::new().await;
    let mut all = bench.fill(1).await;
    let held = bench.one.claim(1, 1).await;
    assert_eq!(ids(&held), all);
    all.extend(bench.fill(count - 1).await);
    (bench, held[0], all)
}

#[tokio::test]
async fn what_is_moved_behind_a_lane_as_its_run_ends_has_its_turn_at_once() {
    let (bench, first, all) = held(4).await;
    // The claim has the lane, and not yet what it moves.
    let holder = bench.open("SELECT 1 FROM inbox.ready FOR UPDATE").await;
    let moving = bench.two.claiming(1, 9);
    bench.until_waiting(1).await;
    let settling = bench.one.completing(first);
    bench.is_done(&settling, 2).await;
    holder.batch_execute("COMMIT").await.unwrap();
    settling.await.unwrap();
    // If it looks again soon enough, it is the next one itself.
    let mut held = moving.await.unwrap();
    if held.is_empty() {
        held = bench.two.claim(1, 9).await;
    }
    bench.assert_over(&held, &all[1..]).await;
}

/// A claim comes while a settlement has the lane and waits for `holder`; the next one finds what is left.
async fn meets(bench: Bench, settling: JoinHandle<()>, holder: Client, left: &[MessageId]) {
    let meeting = bench.two.claiming(1, 9);
    assert!(bench.is_done(&meeting, 2).await, "it waits for the settlement");
    assert_eq!(ids(&meeting.await.unwrap()), []);
    holder.batch_execute("COMMIT").await.unwrap();
    settling.await.unwrap();
    bench.assert_over(&bench.two.claim(1, 9).await, left).await;
}

#[tokio::test]
async fn what_is_met_while_a_settlement_has_the_lane_has_its_turn_at_once() {
    let (bench, first, all) = held(4).await;
    let holder = bench.open("SELECT 1 FROM inbox.held FOR UPDATE").await;
    let settling = bench.one.completing(first);
    bench.until_waiting(1).await;
    meets(bench, settling, holder, &all[1..]).await;
}

#[tokio::test]
async fn what_is_met_after_a_settlement_saw_who_is_next_has_its_turn_at_once() {
    let (bench, first, all) = held(4).await;
    let barrier = bench.barrier().await;
    let settling = bench.one.completing(first);
    bench.until_waiting(1).await;
    meets(bench, settling, barrier, &all[1..]).await;
}

#[tokio::test]
async fn what_comes_after_a_settlement_saw_that_nobody_is_next_has_its_turn_at_once() {
    let (bench, first, _) = held(1).await;
    let barrier = bench.barrier().await;
    let settling = bench.one.completing(first);
    bench.until_waiting(1).await;
    let next = bench.fill(2).await;
    meets(bench, settling, barrier, &next).await;
}
