//! Cancelling and rescheduling, as an application and its handlers meet it.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use inbox::dispatch::Request;
use inbox::schedule::Start;
use inbox::store::{Cancelled, DeliveryState};
use inbox::testing::TestInbox;
use inbox::{Batch, Context, MessageId, ScheduleOptions, State, handler, inbox_contract};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

#[inbox_contract(name = "errand", version = 1)]
#[derive(Serialize, Deserialize)]
enum Errand {
    StopsWhenAsked,
    SucceedsAllTheSame,
    Fails,
}

#[derive(Clone, Default)]
struct Hands {
    begun: Arc<Notify>,
    finish: Arc<Notify>,
    runs: Arc<AtomicU32>,
}

#[handler(key = "errand", max_attempts = 9, retry(initial = "1h"))]
async fn errand(
    command: Errand,
    context: Context,
    State(hands): State<Hands>,
) -> Result<(), String> {
    hands.runs.fetch_add(1, Ordering::SeqCst);
    hands.begun.notify_one();
    match command {
        Errand::Fails => return Err("not now".to_owned()),
        Errand::StopsWhenAsked | Errand::SucceedsAllTheSame => {
            context.cancellation().cancelled().await;
        }
    }
    match command {
        Errand::SucceedsAllTheSame => Ok(()),
        _ => Err("stopped half-way".to_owned()),
    }
}

#[inbox_contract(name = "parcel", version = 1)]
#[derive(Serialize, Deserialize)]
struct Parcel;

/// Takes two at once.
#[handler(key = "parcel", batch = 2)]
async fn parcels(batch: Batch<Parcel>, State(hands): State<Hands>) {
    assert_eq!(batch.len(), 2);
    hands.begun.notify_one();
    hands.finish.notified().await;
}

async fn application() -> (TestInbox, Hands) {
    let hands = Hands::default();
    (TestInbox::builder().state(hands.clone()).build().await.unwrap(), hands)
}

async fn state(inbox: &TestInbox, id: MessageId) -> DeliveryState {
    inbox.inbox().status(id).await.unwrap().unwrap().deliveries[0].state
}

#[tokio::test(start_paused = true)]
async fn a_handler_at_work_is_told_to_stop_and_is_not_tried_again() {
    for (command, expected) in [
        (Errand::StopsWhenAsked, DeliveryState::Cancelled),
        (Errand::SucceedsAllTheSame, DeliveryState::Completed),
    ] {
        let (inbox, hands) = application().await;
        let id = inbox.schedule(command).await.message_id();
        let pass = tokio::spawn({
            let inbox = inbox.clone();
            async move { inbox.drain().await }
        });
        hands.begun.notified().await;
        let cancelled = inbox.inbox().cancel(id).await.unwrap();
        assert_eq!(cancelled, Cancelled { at_once: 0, asked: 1 });
        let report = pass.await.unwrap();
        assert_eq!(report.cancelled + report.completed, 1, "{report:?}");
        assert_eq!((report.retried, report.dead), (0, 0), "{report:?}");
        assert_eq!(state(&inbox, id).await, expected);
        inbox.advance(Duration::from_hours(2));
        assert_eq!(inbox.drain().await.leased, 0);
        assert_eq!(hands.runs.load(Ordering::SeqCst), 1);
    }
}

#[inbox_contract(name = "hasty", version = 1)]
#[derive(Serialize, Deserialize)]
struct Hasty;

#[handler(key = "hasty", retry(immediate = 5, immediate_delay = "1h"))]
async fn hasty(_command: Hasty, State(hands): State<Hands>) -> Result<(), String> {
    hands.runs.fetch_add(1, Ordering::SeqCst);
    hands.begun.notify_one();
    Err("not now".to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_run_is_not_repeated_that_was_cancelled_since_it_failed() {
    let (inbox, hands) = application().await;
    let id = inbox.schedule(Hasty).await.message_id();
    let pass = tokio::spawn({
        let inbox = inbox.clone();
        async move { inbox.drain().await }
    });
    hands.begun.notified().await;
    assert_eq!(inbox.inbox().cancel(id).await.unwrap().asked, 1);
    pass.await.unwrap();
    assert_eq!(state(&inbox, id).await, DeliveryState::Cancelled);
    assert_eq!(hands.runs.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_delivery_that_is_leased_and_not_begun_never_runs() {
    let (inbox, hands) = application().await;
    // Handled in no time, so that more is leased ahead.
    inbox.schedule(Errand::Fails).await;
    let first = inbox.schedule(Errand::StopsWhenAsked).await.message_id();
    let second = inbox.schedule(Errand::Fails).await.message_id();
    let pass = tokio::spawn({
        let inbox = inbox.clone();
        async move { inbox.drain().await }
    });
    while hands.runs.load(Ordering::SeqCst) < 2 {
        hands.begun.notified().await;
    }
    // The second is held as well, behind the first.
    for id in [second, first] {
        assert_eq!(inbox.inbox().cancel(id).await.unwrap().asked, 1);
    }
    assert_eq!(pass.await.unwrap().cancelled, 2);
    assert_eq!(hands.runs.load(Ordering::SeqCst), 2, "the second never ran");
    assert_eq!(state(&inbox, second).await, DeliveryState::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_stopped_when_all_of_it_is_cancelled() {
    let (hands, (told, mut stops)) = (Hands::default(), tokio::sync::mpsc::unbounded_channel());
    let watch = tower::util::MapRequestLayer::new(move |request: Request| {
        told.send(request.cancellation().clone()).unwrap();
        request
    });
    let builder = TestInbox::builder().with(|inbox| inbox.layer(watch));
    let inbox = builder.state(hands.clone()).build().await.unwrap();
    let ids =
        [inbox.schedule(Parcel).await.message_id(), inbox.schedule(Parcel).await.message_id()];
    let pass = tokio::spawn({
        let inbox = inbox.clone();
        async move { inbox.drain().await }
    });
    hands.begun.notified().await;
    let stop = stops.recv().await.unwrap();
    inbox.inbox().cancel(ids[0]).await.unwrap();
    // Several renewals later it is still at work for the other one.
    tokio::time::sleep(Duration::from_mins(2)).await;
    assert!(!stop.is_cancelled());
    inbox.inbox().cancel(ids[1]).await.unwrap();
    stop.cancelled().await;
    hands.finish.notify_one();
    assert_eq!(pass.await.unwrap().completed, 2, "the handler succeeded all the same");
}

#[tokio::test]
async fn what_has_not_begun_is_cancelled_at_once() {
    let (inbox, hands) = application().await;
    let options = ScheduleOptions::new().delay(Duration::from_hours(1));
    let later = inbox.schedule_with(Errand::Fails, options).await.message_id();
    let now = inbox.schedule(Errand::Fails).await.message_id();
    for id in [later, now] {
        let cancelled = inbox.inbox().cancel(id).await.unwrap();
        assert_eq!(cancelled, Cancelled { at_once: 1, asked: 0 });
        assert_eq!(inbox.inbox().cancel(id).await.unwrap(), Cancelled::default());
    }
    inbox.advance(Duration::from_hours(2));
    assert_eq!(inbox.drain().await.leased, 0);
    assert_eq!(hands.runs.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_retry_is_brought_forward_and_a_command_put_off() {
    let (inbox, hands) = application().await;
    let id = inbox.schedule(Errand::Fails).await.message_id();
    let put_off = Start::After(Duration::from_hours(1));
    assert_eq!(inbox.inbox().reschedule(id, put_off).await.unwrap(), 1);
    assert_eq!(inbox.drain().await.leased, 0);
    inbox.advance(Duration::from_hours(1));
    assert_eq!(inbox.drain().await.retried, 1);
    // The retry would come in an hour.
    assert_eq!(inbox.inbox().reschedule(id, Start::Immediately).await.unwrap(), 1);
    assert_eq!(inbox.drain().await.retried, 1);
    assert_eq!(hands.runs.load(Ordering::SeqCst), 2);
}
