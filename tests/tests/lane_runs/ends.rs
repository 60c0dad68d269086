use std::time::Duration;

use inbox::store::{DeliveryFilter, DeliveryState};
use inbox_tests::faulty::{Trouble, Verb};

use crate::kit::{self, Script, What, health_is, in_order, schedule};

/// One that passes, one that waits, and eight more.
fn whats() -> Vec<What> {
    [What::Pass, What::Wait].into_iter().chain([What::Pass; 8]).collect()
}

#[tokio::test(start_paused = true)]
async fn at_a_shutdown_the_delivery_that_runs_is_finished_and_the_rest_is_given_back_after_it() {
    let script = Script::new();
    let (inbox, store) = kit::inbox(&script).await;
    let inbox = inbox.build().await.unwrap();
    let ids = schedule(&inbox, &whats()).await;
    let host = inbox.start().unwrap();
    script.until_began(2).await;
    health_is(&inbox, |health| health.load.unsettled == 0).await;
    let stopping = tokio::spawn(async move { host.shutdown(Duration::from_mins(10)).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(store.calls(Verb::Settle).begun, 1, "the rest is behind the one that runs");
    let load = inbox.control().health().load;
    assert_eq!((load.running, load.buffered), (1, 8));
    script.permit(1);
    let report = stopping.await.unwrap();
    assert_eq!((report.settled, report.released, report.left), (1, 8, 0));
    assert_eq!(script.began(), [0, 1]);
    let states = in_order(&store, &ids);
    assert_eq!(
        states[..3],
        [DeliveryState::Completed, DeliveryState::Completed, DeliveryState::Pending]
    );
    assert_eq!(states.len(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_cut_off_is_given_back_from_the_delivery_that_ran() {
    let script = Script::new();
    let (inbox, store) = kit::inbox(&script).await;
    let inbox = inbox.build().await.unwrap();
    let ids = schedule(&inbox, &whats()).await;
    let host = inbox.start().unwrap();
    script.until_began(2).await;
    health_is(&inbox, |health| health.load.unsettled == 0).await;
    let report = host.shutdown(Duration::from_millis(50)).await;
    assert_eq!((report.settled, report.released, report.left), (0, 9, 0));
    assert_eq!(in_order(&store, &ids)[1..], [DeliveryState::Pending; 9]);
    for delivery in inbox.list(DeliveryFilter::default()).await.unwrap().deliveries {
        let attempts = u32::from(delivery.state == DeliveryState::Completed);
        assert_eq!(delivery.attempts, attempts, "{delivery:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_cut_off_is_given_back_after_what_is_being_written_of_it() {
    let script = Script::new();
    let (inbox, store) = kit::inbox(&script).await;
    let inbox = inbox.build().await.unwrap();
    let ids = schedule(&inbox, &whats()).await;
    store.trouble(Verb::Settle, Trouble::Slow(Duration::from_millis(500)), 1);
    let host = inbox.start().unwrap();
    script.until_began(2).await;
    let report = host.shutdown(Duration::from_millis(50)).await;
    assert_eq!((report.settled, report.released, report.left), (1, 9, 0));
    let states = in_order(&store, &ids);
    assert_eq!(
        (states[0], &states[1..]),
        (DeliveryState::Completed, &[DeliveryState::Pending; 9][..])
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_behind_a_settlement_that_takes_too_long_is_left() {
    let script = Script::new();
    let (inbox, store) = kit::inbox(&script).await;
    let inbox = inbox.build().await.unwrap();
    schedule(&inbox, &whats()).await;
    store.trouble(Verb::Settle, Trouble::Hangs, 1);
    let host = inbox.start().unwrap();
    script.until_began(2).await;
    let report = host.shutdown(Duration::from_millis(50)).await;
    assert_eq!((report.settled, report.released, report.left), (0, 0, 10));
    assert_eq!(store.writes().len(), 1);
}
