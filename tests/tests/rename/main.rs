//! A handler is renamed while messages come in, with two programs: the one before and the one after.
//! Rolled back and done again, nothing is lost, doubled, or given to the wrong key.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod fleet;
mod judge;

use fleet::{Fleet, NEW, OLD};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_is_renamed_rolled_back_and_renamed_again_without_downtime() {
    let mut fleet = Fleet::open().await;
    let old = [fleet.start(OLD), fleet.start(OLD)];
    fleet.go_on_as(0).await;

    // A deploy has begun: both programs are there.
    fleet.change();
    let new = fleet.start(NEW);
    fleet.go_on_as(2).await;
    // One of the old ones is killed and comes back: it does not bring its name back.
    fleet.kill(old[0]);
    let again = fleet.start(OLD);
    fleet.go_on_as(2).await;

    // The deploy is rolled back.
    fleet.change();
    fleet.stop(new);
    fleet.operator.restore("rename.pay", "charge").await.unwrap();
    fleet.go_on_as(4).await;
    // A new one that nobody stopped in time starts once more: it does not take its name back.
    let straggler = fleet.start(NEW);
    fleet.go_on_as(4).await;
    fleet.kill(straggler);

    // The old fleet is gone before the new one is there; commands come in all the same.
    fleet.change();
    fleet.stop(old[1]);
    fleet.stop(again);
    fleet.go_on_as(6).await;

    fleet.change();
    fleet.start(NEW);
    fleet.start(NEW);
    fleet.operator.restore("rename.pay", "charge-card").await.unwrap();
    fleet.go_on_as(8).await;

    let keys =
        [(0, "charge"), (2, "charge-card"), (4, "charge"), (6, "charge"), (8, "charge-card")];
    fleet.finish().await.judge(&keys.into());
}
