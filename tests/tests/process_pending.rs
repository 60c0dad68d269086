//! A pass when something goes wrong around it: leases lost, stores that fail, handlers that vanish.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inbox::schedule::Priority;
use inbox::store::{
    Clock as _, DeliveryState, Inspect as _, LeaseRequest, LeaseStore as _, Maintain as _, Now,
    StoreErrorKind, Terms, Wanted,
};
use inbox::testing::{TestClock, TestInbox};
use inbox::{
    Context, Inbox, MessageId, ScheduleOptions, State, Timestamp, handler, inbox_contract,
};
use inbox_tests::faulty::{FaultyStore, RuntimeClock, Trouble, Verb};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

#[inbox_contract(name = "task", version = 1)]
#[derive(Serialize, Deserialize)]
enum Task {
    Quick,
    OutlivesItsLease,
    WaitsForTheTest,
    NeverEnds,
    PanicsWhenDropped,
    FailsWithABomb,
    Schedules,
    WaitsToBeStopped,
}

/// What handlers need from a test.
#[derive(Clone, Default)]
struct Hands {
    clock: Option<Arc<TestClock>>,
    runs: Arc<AtomicU32>,
    begun: Arc<Notify>,
    finish: Arc<Notify>,
    early: Arc<Notify>,
    seen: Arc<Mutex<Option<Context>>>,
}

#[derive(Debug)]
struct PanicsInDrop;

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        panic!("even now")
    }
}

#[handler(key = "task", timeout = "1h", max_attempts = 2)]
async fn task(
    command: Task,
    context: Context,
    State(hands): State<Hands>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    hands.runs.fetch_add(1, Ordering::SeqCst);
    hands.seen.lock().unwrap().replace(context.clone());
    hands.begun.notify_one();
    match command {
        Task::Quick => {}
        Task::OutlivesItsLease => hands.clock.unwrap().advance(Duration::from_mins(2)),
        Task::WaitsForTheTest => hands.finish.notified().await,
        Task::NeverEnds => std::future::pending().await,
        Task::PanicsWhenDropped => {
            let _bomb = PanicsInDrop;
            tokio::time::sleep(Duration::from_hours(2)).await;
        }
        Task::FailsWithABomb => Err(Bomb(PanicsInDrop))?,
        Task::WaitsToBeStopped => context.cancellation().cancelled().await,
        Task::Schedules => {
            context.scheduler().schedule(Task::Quick, ScheduleOptions::new()).await?;
        }
    }
    Ok(())
}

/// An error that panics when it is shown and when it is dropped.
#[derive(Debug)]
struct Bomb(PanicsInDrop);

impl std::fmt::Display for Bomb {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("do not look")
    }
}

impl std::error::Error for Bomb {}

#[tokio::test]
async fn an_error_that_panics_itself_is_settled_like_any_other() {
    let inbox = TestInbox::builder().state(Hands::default()).build().await.unwrap();
    let id = inbox.schedule(Task::FailsWithABomb).await.message_id();
    inbox.schedule(Task::Quick).await;
    let report = inbox.inbox().process_pending().await.unwrap();
    assert_eq!((report.retried, report.completed), (1, 1));
    let error = inbox.status(id).await.deliveries.remove(0).error.unwrap();
    assert_eq!(error, "the error panicked when asked");
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_schedules_is_not_timed_out_while_the_clock_is_paused() {
    let inbox = TestInbox::builder().state(Hands::default()).build().await.unwrap();
    for _ in 0..20 {
        inbox.schedule(Task::Schedules).await;
    }
    assert_eq!(inbox.drain().await.completed, 40);
}

#[inbox_contract(name = "early", version = 1)]
#[derive(Serialize, Deserialize)]
struct Early;

#[handler(key = "a-key-before-the-others")]
async fn early(_command: Early, State(hands): State<Hands>) {
    hands.early.notify_one();
    std::future::pending::<()>().await;
}

async fn delivery(inbox: &TestInbox, id: MessageId) -> (DeliveryState, u32) {
    let delivery = inbox.status(id).await.deliveries.remove(0);
    (delivery.state, delivery.attempts)
}

/// An inbox by a clock that its handlers can set.
async fn by_test_clock() -> (TestInbox, Hands, Arc<TestClock>) {
    let clock = Arc::new(TestClock::new(Timestamp::now()));
    let hands = Hands { clock: Some(Arc::clone(&clock)), ..Hands::default() };
    let given = Arc::clone(&clock);
    let builder = TestInbox::builder().state(hands.clone()).with(move |inbox| inbox.clock(given));
    (builder.build().await.unwrap(), hands, clock)
}

#[tokio::test]
async fn a_handler_that_outlives_its_lease_is_settled_while_nobody_has_taken_its_delivery() {
    let (inbox, _hands, _clock) = by_test_clock().await;
    let id = inbox.schedule(Task::OutlivesItsLease).await.message_id();
    let report = inbox.inbox().process_pending().await.unwrap();
    assert_eq!((report.leased, report.lost, report.completed), (1, 0, 1));
    assert_eq!(delivery(&inbox, id).await, (DeliveryState::Completed, 1));
}

#[tokio::test]
async fn a_handler_whose_lease_is_reclaimed_changes_nothing() {
    let (inbox, hands, clock) = by_test_clock().await;
    let id = inbox.schedule(Task::WaitsForTheTest).await.message_id();
    let others = async {
        hands.begun.notified().await;
        clock.advance(Duration::from_mins(2));
        let reclaimed = inbox.inbox().store().reclaim(10, clock.now()).await.unwrap();
        assert_eq!(reclaimed.returned(), 1);
        assert_eq!(delivery(&inbox, id).await, (DeliveryState::Pending, 0));
        hands.finish.notify_one();
        hands.begun.notified().await;
        hands.finish.notify_one();
    };
    let (report, ()) = tokio::join!(inbox.inbox().process_pending(), others);
    let report = report.unwrap();
    assert_eq!((report.leased, report.lost, report.completed), (2, 1, 1));
    assert_eq!(delivery(&inbox, id).await, (DeliveryState::Completed, 1));
}

#[tokio::test(start_paused = true)]
async fn leases_are_renewed_while_a_handler_runs() {
    let lease = Duration::from_mins(1);
    let hands = Hands::default();
    let builder = TestInbox::builder().state(hands.clone());
    let inbox = builder.with(move |inbox| inbox.lease_duration(lease)).build().await.unwrap();
    let id = inbox.schedule(Task::WaitsForTheTest).await.message_id();
    let watch = async {
        hands.begun.notified().await;
        // Ten times as long as a lease holds, by the store's clock. It is moved only after the lease was
        // renewed.
        for _ in 0..15 {
            inbox.advance(lease * 2 / 3);
            let renewed = Some(inbox.now().saturating_add(lease));
            while inbox.status(id).await.deliveries[0].lease_expires_at != renewed {
                tokio::time::sleep(lease / 100).await;
            }
        }
        hands.finish.notify_one();
    };
    let (report, ()) = tokio::join!(inbox.inbox().process_pending(), watch);
    let report = report.unwrap();
    assert_eq!((report.completed, report.lost), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_is_stopped_and_panics_while_it_is_dropped_disturbs_nobody() {
    let inbox = TestInbox::builder().state(Hands::default()).build().await.unwrap();
    let id = inbox.schedule(Task::PanicsWhenDropped).await.message_id();
    inbox.schedule(Task::Quick).await;
    let report = inbox.inbox().process_pending().await.unwrap();
    assert_eq!((report.retried, report.completed), (1, 1));
    let error = inbox.status(id).await.deliveries.remove(0).error.unwrap();
    assert!(error.contains("timeout of 3600s"), "{error}");
}

#[tokio::test]
async fn work_that_is_dropped_costs_its_deliveries_nothing() {
    let hands = Hands::default();
    let inbox = TestInbox::builder().state(hands.clone()).build().await.unwrap();
    let id = inbox.schedule(Task::NeverEnds).await.message_id();
    let waits = inbox.schedule(Task::Quick).await.message_id();
    tokio::select! {
        _ = inbox.inbox().process_pending() => panic!("it ended"),
        () = hands.begun.notified() => {}
    }
    // The handler's token tells whoever still holds it that the run is over.
    let context = hands.seen.lock().unwrap().take().unwrap();
    assert!(context.cancellation().is_cancelled());
    for id in [id, waits] {
        assert_eq!(delivery(&inbox, id).await, (DeliveryState::Pending, 0));
    }
}

/// As if a worker had vanished: leases everything and says no more.
async fn vanish(inbox: &TestInbox) {
    let limit = NonZeroU32::new(100).unwrap();
    let wanted = Wanted {
        handler_key: "task".to_owned(),
        versions: vec![1],
        limit,
        max_crashes: limit,
        terms: Terms::default(),
    };
    let duration = Duration::from_mins(1);
    let request = LeaseRequest {
        host: "vanished".to_owned(),
        duration,
        wanted: vec![wanted],
        tenants: None,
        quarantine: None,
        first: None,
    };
    let now = Now::At(inbox.now());
    assert!(!inbox.inbox().store().lease(request, now).await.unwrap().is_empty());
    inbox.advance(duration);
}

/// As if two had, one after the other; what the second one held is left to be reclaimed.
async fn vanish_twice(inbox: &TestInbox) {
    vanish(inbox).await;
    inbox.inbox().store().reclaim(10, Now::At(inbox.now())).await.unwrap();
    vanish(inbox).await;
}

#[tokio::test]
async fn a_quarantined_delivery_runs_before_what_was_leased_with_it() {
    let hands = Hands::default();
    let inbox = TestInbox::builder().state(hands.clone()).build().await.unwrap();
    let quarantined = inbox.schedule(Task::Quick).await.message_id();
    vanish_twice(&inbox).await;
    // More urgent, of a key that comes before, and it ends the pass: by then the quarantined one is settled,
    // and accused of nothing.
    let urgent = ScheduleOptions::new().priority(Priority::Urgent);
    inbox.schedule_with(Early, urgent).await;
    tokio::select! {
        _ = inbox.inbox().process_pending() => panic!("it ended"),
        () = hands.early.notified() => {}
    }
    assert_eq!(delivery(&inbox, quarantined).await, (DeliveryState::Completed, 1));
}

#[tokio::test]
async fn work_that_is_dropped_costs_a_quarantined_delivery_nothing_either() {
    let hands = Hands::default();
    let inbox = TestInbox::builder().state(hands.clone()).build().await.unwrap();
    let id = inbox.schedule(Task::NeverEnds).await.message_id();
    vanish_twice(&inbox).await;
    for _ in 0..5 {
        tokio::select! {
            _ = inbox.inbox().process_pending() => panic!("it ended"),
            () = hands.begun.notified() => {}
        }
        assert_eq!(delivery(&inbox, id).await, (DeliveryState::Pending, 0));
    }
}

async fn settling(trouble: Trouble, times: u32) -> (Inbox<FaultyStore>, Hands) {
    let hands = Hands::default();
    let store = FaultyStore::new().await.unwrap();
    store.trouble(Verb::Settle, trouble, times);
    let inbox = Inbox::builder(store).state(hands.clone()).concurrency(1).buffer(10);
    (inbox.build().await.unwrap(), hands)
}

#[tokio::test(start_paused = true)]
async fn a_settle_that_fails_for_a_moment_is_repeated_and_the_handler_is_not() {
    let (inbox, hands) = settling(Trouble::Fails(StoreErrorKind::Busy), 3).await;
    inbox.scheduler().schedule(Task::Quick, ScheduleOptions::new()).await.unwrap();
    let report = inbox.process_pending().await.unwrap();
    assert_eq!((report.completed, hands.runs.load(Ordering::SeqCst)), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_settle_that_was_written_and_answered_too_late_counts() {
    let (inbox, hands) = settling(Trouble::AnswersNothing, 1).await;
    inbox.scheduler().schedule(Task::Quick, ScheduleOptions::new()).await.unwrap();
    let report = inbox.process_pending().await.unwrap();
    assert_eq!((report.completed, report.lost), (1, 0));
    assert_eq!(hands.runs.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_handler_is_stopped_when_its_lease_cannot_be_renewed_in_time() {
    // The store does not answer at all: only this process's own clock can tell. The store goes by the
    // same one, which moves only when everyone waits.
    let hands = Hands::default();
    let store = FaultyStore::new().await.unwrap();
    store.trouble(Verb::Renew, Trouble::Hangs, u32::MAX);
    let inbox = Inbox::builder(store).state(hands.clone()).clock(RuntimeClock::start());
    let inbox = inbox.build().await.unwrap();
    let options = ScheduleOptions::new();
    inbox.scheduler().schedule(Task::WaitsToBeStopped, options).await.unwrap();
    // Stopped in time, it came to its end, and nobody had taken it.
    let report = inbox.process_pending().await.unwrap();
    assert_eq!((report.completed, report.lost), (1, 0));
}

#[tokio::test]
async fn what_expires_while_it_waits_for_its_turn_is_not_handled() {
    let clock = Arc::new(TestClock::new(Timestamp::now()));
    let hands = Hands { clock: Some(Arc::clone(&clock)), ..Hands::default() };
    let given = Arc::clone(&clock);
    let builder = TestInbox::builder().state(hands.clone());
    let builder =
        builder.with(move |inbox| inbox.clock(given).lease_duration(Duration::from_hours(1)));
    let inbox = builder.build().await.unwrap();
    // Leased together; the first one takes two minutes.
    inbox.schedule(Task::OutlivesItsLease).await;
    let options = ScheduleOptions::new().deliver_by(clock.moment() + Duration::from_mins(1));
    inbox.schedule_with(Task::Quick, options).await;
    let report = inbox.inbox().process_pending().await.unwrap();
    assert_eq!((report.leased, report.completed, report.expired), (2, 1, 1));
}

#[tokio::test]
async fn a_store_that_cannot_settle_ends_the_work_and_what_was_not_begun_is_given_back() {
    let (inbox, hands) = settling(Trouble::Fails(StoreErrorKind::Full), u32::MAX).await;
    let mut ids = Vec::new();
    for _ in 0..50 {
        let receipt = inbox.scheduler().schedule(Task::Quick, ScheduleOptions::new()).await;
        ids.push(receipt.unwrap().message_id());
    }
    let error = inbox.process_pending().await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Full);
    let (mut given_back, mut begun) = (0, 0);
    for id in ids {
        let delivery = inbox.store().show(id).await.unwrap().unwrap().deliveries.remove(0);
        match delivery.state {
            DeliveryState::Pending => given_back += 1,
            // What ran is not run again at once: who knows whether its outcome can be written now.
            state => {
                assert_eq!((state, delivery.attempts), (DeliveryState::Processing, 1));
                begun += 1;
            }
        }
    }
    let ran = hands.runs.load(Ordering::SeqCst);
    assert!(ran == begun && given_back > 0, "{ran} ran, {begun} are held");
    inbox.store().heal();
    let report = inbox.process_pending().await.unwrap();
    assert_eq!(report.completed, given_back, "{report:?}");
}
