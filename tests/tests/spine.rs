//! One pass over a real store: what is scheduled is leased, dispatched and settled.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::time::Duration;

use inbox::schedule::{Limits, OnConflict, ScheduleError};
use inbox::store::{DeliveryState, Inspect as _, Now};
use inbox::testing::{TestInbox, assert_scheduled};
use inbox::{
    Acceptance, Batch, Context, MessageId, ScheduleOptions, State, Timestamp, handler,
    inbox_contract,
};
use inbox_tests::seen::Seen;
use serde::{Deserialize, Serialize};

async fn inbox() -> (TestInbox, Seen) {
    let seen = Seen::default();
    (TestInbox::builder().state(seen.clone()).build().await.unwrap(), seen)
}

/// The state of the only delivery of a message, and its error.
async fn state(inbox: &TestInbox, id: MessageId) -> (DeliveryState, Option<String>) {
    let deliveries = inbox.status(id).await.deliveries;
    assert_eq!(deliveries.len(), 1, "{deliveries:?}");
    (deliveries[0].state, deliveries[0].error.clone())
}

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct PayV1 {
    id: u32,
}

#[inbox_contract(name = "pay", version = 2, upgrades = PayV1, idempotency_key = "{id}")]
#[derive(Serialize, Deserialize)]
struct Pay {
    id: String,
    fails: u32,
}

impl From<PayV1> for Pay {
    fn from(old: PayV1) -> Self {
        Self { id: format!("upgraded {}", old.id), fails: 0 }
    }
}

fn pay(id: &str, fails: u32) -> Pay {
    Pay { id: id.to_owned(), fails }
}

#[handler(key = "pay", max_attempts = 3, retry(initial = "10s", max = "1m", jitter = none))]
async fn handle_pay(
    command: Pay,
    context: Context,
    State(seen): State<Seen>,
) -> Result<(), String> {
    seen.note(format!("{} {}+{}", command.id, context.attempt(), context.delayed_retries()));
    match context.attempt() <= command.fails {
        true => Err(format!("failure {}", context.attempt())),
        false => Ok(()),
    }
}

#[tokio::test]
async fn a_command_is_accepted_stored_leased_dispatched_and_settled() {
    let (inbox, seen) = inbox().await;
    let receipt = inbox.schedule(pay("a", 0)).await;
    assert_eq!(receipt.acceptance(), Acceptance::Accepted);
    assert_eq!((receipt.contract(), receipt.version()), ("pay", 2));
    assert_eq!(receipt.accepted_at(), inbox.now());
    assert_eq!(state(&inbox, receipt.message_id()).await.0, DeliveryState::Pending);
    let report = inbox.inbox().process_pending().await.unwrap();
    assert_eq!((report.leased, report.completed), (1, 1));
    assert_eq!(state(&inbox, receipt.message_id()).await.0, DeliveryState::Completed);
    assert_eq!(seen.take(), ["a 1+0"]);
    assert_eq!(inbox.drain().await.leased, 0);
}

#[tokio::test]
async fn a_failed_attempt_is_made_again_after_its_delay_and_not_before() {
    let (inbox, seen) = inbox().await;
    let id = inbox.schedule(pay("a", 2)).await.message_id();
    assert_eq!(inbox.drain().await.retried, 1);
    let (waiting, error) = state(&inbox, id).await;
    assert_eq!((waiting, error.as_deref()), (DeliveryState::Waiting, Some("failure 1")));
    inbox.advance(Duration::from_micros(9_999_999));
    assert_eq!(inbox.drain().await.leased, 0);
    inbox.advance(Duration::from_micros(1));
    assert_eq!(inbox.drain().await.retried, 1);
    inbox.advance(Duration::from_secs(20));
    assert_eq!(inbox.drain().await.completed, 1);
    assert_eq!(seen.take(), ["a 1+0", "a 2+1", "a 3+2"]);
    let errors: Vec<_> =
        inbox.status(id).await.attempts.iter().map(|attempt| attempt.error.clone()).collect();
    assert_eq!(errors, ["failure 1", "failure 2"]);
}

#[tokio::test]
async fn the_last_failure_makes_a_dead_letter_with_its_reason_and_an_operator_can_retry_it() {
    let (inbox, seen) = inbox().await;
    let id = inbox.schedule(pay("a", 3)).await.message_id();
    for _ in 0..3 {
        inbox.drain().await;
        inbox.advance(Duration::from_mins(1));
    }
    let delivery = inbox.status(id).await.deliveries.remove(0);
    assert_eq!((delivery.state, delivery.attempts), (DeliveryState::Dead, 3));
    assert_eq!(delivery.reason.as_deref(), Some("attempts-exhausted"));
    assert_eq!(delivery.error.as_deref(), Some("failure 3"));
    assert_eq!(inbox.drain().await.leased, 0);
    drop(seen.take());

    assert!(inbox.inbox().store().retry(id, "pay", Now::OfStore).await.unwrap());
    inbox.drain().await;
    assert_eq!(seen.take(), ["a 1+0"]);
}

#[tokio::test]
async fn a_key_accepted_before_answers_with_the_first_message_and_whether_it_says_the_same() {
    let (inbox, seen) = inbox().await;
    let first = inbox.schedule(pay("a", 0)).await;
    let same = inbox.schedule(pay("a", 0)).await;
    assert_eq!(same.acceptance(), Acceptance::AlreadyAccepted { payload_matches: true });
    inbox.drain().await;
    let other = inbox.schedule(pay("a", 1)).await;
    assert_eq!(other.acceptance(), Acceptance::AlreadyAccepted { payload_matches: false });
    let ids = [same.message_id(), other.message_id()];
    assert_eq!(ids, [first.message_id(); 2]);
    assert_eq!(other.accepted_at(), first.accepted_at());
    inbox.drain().await;
    assert_eq!(seen.take(), ["a 1+0"]);

    let strict = ScheduleOptions::new().on_conflict(OnConflict::Refuse);
    let scheduler = inbox.inbox().scheduler();
    assert!(scheduler.schedule(pay("a", 0), strict.clone()).await.is_ok());
    let error = scheduler.schedule(pay("a", 1), strict).await.unwrap_err();
    assert!(
        matches!(&error, ScheduleError::Conflict { first: id, .. } if *id == first.message_id()),
        "{error}"
    );
    let elsewhere = ScheduleOptions::new().tenant("acme");
    let elsewhere = inbox.schedule_with(pay("a", 1), elsewhere).await;
    assert_eq!(elsewhere.acceptance(), Acceptance::Accepted);
}

#[tokio::test]
async fn a_command_scheduled_again_by_a_newer_program_is_the_same_command() {
    let (inbox, _) = inbox().await;
    let options = ScheduleOptions::new().idempotency_key("one").on_conflict(OnConflict::Refuse);
    inbox.schedule_with(PayV1 { id: 7 }, options.clone()).await;
    let again = inbox.schedule_with(pay("upgraded 7", 0), options.clone()).await;
    assert_eq!(again.acceptance(), Acceptance::AlreadyAccepted { payload_matches: true });
    let other = inbox.inbox().scheduler().schedule(pay("upgraded 8", 0), options).await;
    assert!(matches!(other, Err(ScheduleError::Conflict { .. })), "{other:?}");
}

#[tokio::test]
async fn many_are_answered_in_the_order_given_each_for_itself() {
    let (inbox, _) = inbox().await;
    let long = "x".repeat(201);
    let commands = ["a", "b", &long, "a", "c"].map(|id| (pay(id, 0), ScheduleOptions::new()));
    let answers = inbox.inbox().scheduler().schedule_all(commands).await.unwrap();
    let accepted = |at: usize| answers[at].as_ref().unwrap();
    assert!(matches!(answers[2], Err(ScheduleError::TooLong { .. })));
    assert_eq!(accepted(3).message_id(), accepted(0).message_id());
    assert_eq!(accepted(3).acceptance(), Acceptance::AlreadyAccepted { payload_matches: true });
    assert_eq!(inbox.drain().await.completed, 3);
    let none = inbox.inbox().scheduler().schedule_all(Vec::<(Pay, ScheduleOptions)>::new()).await;
    assert!(none.unwrap().is_empty());
}

#[tokio::test]
async fn what_is_too_late_expires_before_anything_reads_it() {
    let (inbox, seen) = inbox().await;
    let options = ScheduleOptions::new().deliver_by(inbox.now());
    let in_time = inbox.schedule_with(pay("a", 0), options.clone()).await.message_id();
    assert_eq!(inbox.drain().await.completed, 1);
    let id = inbox.schedule_with(pay("b", 0), options).await.message_id();
    inbox.advance(Duration::from_micros(1));
    let report = inbox.drain().await;
    assert_eq!((report.expired, report.completed), (1, 0));
    assert_eq!(state(&inbox, id).await.0, DeliveryState::Expired);
    let past = ScheduleOptions::new().deliver_by(Timestamp::from_micros(0));
    let past = inbox.schedule_with(pay("c", 0), past).await.message_id();
    assert_eq!(inbox.drain().await.expired, 1);
    assert_eq!(state(&inbox, past).await.0, DeliveryState::Expired);
    assert_eq!(state(&inbox, in_time).await.0, DeliveryState::Completed);
    assert_eq!(seen.take(), ["a 1+0"]);
}

#[tokio::test]
async fn an_older_version_is_upgraded_on_its_way_to_the_handler() {
    let (inbox, seen) = inbox().await;
    inbox.schedule(PayV1 { id: 7 }).await;
    assert_eq!(inbox.drain().await.completed, 1);
    assert_eq!(seen.take(), ["upgraded 7 1+0"]);
}

#[inbox_contract(name = "event", version = 1)]
#[derive(Serialize, Deserialize)]
struct Event;

#[handler(key = "event-works")]
async fn event_works(_event: Event, State(seen): State<Seen>) {
    seen.note("works");
}

#[handler(key = "event-fails", max_attempts = 1)]
async fn event_fails(_event: Event) -> Result<(), String> {
    Err("no".to_owned())
}

#[handler(key = "event-panics", max_attempts = 1)]
async fn event_panics(_event: Event) {
    panic!("out of luck")
}

#[tokio::test]
async fn each_handler_of_an_event_settles_on_its_own_and_a_panic_is_a_failure() {
    let (inbox, seen) = inbox().await;
    let id = inbox.schedule(Event).await.message_id();
    let report = inbox.drain().await;
    assert_eq!((report.completed, report.dead), (1, 2));
    let deliveries = inbox.status(id).await.deliveries;
    let found: Vec<_> = deliveries
        .iter()
        .map(|delivery| {
            (delivery.handler_key.as_deref().unwrap(), delivery.state, delivery.error.as_deref())
        })
        .collect();
    let expected = [
        ("event-fails", DeliveryState::Dead, Some("no")),
        ("event-panics", DeliveryState::Dead, Some("the handler panicked: out of luck")),
        ("event-works", DeliveryState::Completed, None),
    ];
    assert_eq!(found, expected);
    assert_eq!(seen.take(), ["works"]);
}

#[inbox_contract(name = "begin", version = 1)]
#[derive(Serialize, Deserialize)]
struct Begin;

#[inbox_contract(name = "follow", version = 1)]
#[derive(Serialize, Deserialize)]
struct Follow {
    step: u32,
}

#[handler(key = "begin")]
async fn begin(_command: Begin, context: Context) -> Result<(), ScheduleError> {
    let scheduler = context.scheduler();
    scheduler.schedule(Follow { step: 1 }, ScheduleOptions::new()).await?;
    scheduler.schedule(Follow { step: 2 }, ScheduleOptions::new().correlation_id("mine")).await?;
    Ok(())
}

#[handler(key = "follow")]
async fn follow(command: Follow, context: Context, State(seen): State<Seen>) {
    seen.note(format!(
        "{}: {} {} {}",
        command.step,
        context.correlation_id().unwrap(),
        context.causation_id().unwrap(),
        context.tenant()
    ));
}

#[tokio::test]
async fn what_a_handler_schedules_inherits_conversation_cause_and_tenant() {
    let (inbox, seen) = inbox().await;
    let options = ScheduleOptions::new().correlation_id("order-1").tenant("acme");
    let id = inbox.schedule_with(Begin, options).await.message_id();
    assert_eq!(inbox.inbox().process_pending().await.unwrap().completed, 3);
    assert_scheduled!(inbox, Follow { step: 2 });
    assert_scheduled!(inbox, Follow { step } if *step == 1);
    assert_eq!(seen.take(), [format!("1: order-1 {id} acme"), format!("2: mine {id} acme")]);
}

#[inbox_contract(name = "slow", version = 1)]
#[derive(Serialize, Deserialize)]
struct Slow;

#[handler(key = "slow", timeout = "30s", max_attempts = 1)]
async fn slow(_command: Slow) {
    std::future::pending::<()>().await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_takes_too_long_has_failed() {
    let (inbox, _) = inbox().await;
    let error = inbox.run("slow", Slow).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the handler was stopped after its timeout of 30s: raise `timeout` in its `#[handler]`, or \
         let it do less"
    );
}

#[inbox_contract(name = "flaky", version = 1)]
#[derive(Serialize, Deserialize)]
struct Flaky;

#[handler(key = "flaky", retry(immediate = 2, immediate_delay = "1s", delays = ["1m"]))]
async fn flaky(_command: Flaky, context: Context, State(seen): State<Seen>) -> Result<(), String> {
    seen.note(format!("{}.{}", context.attempt(), context.immediate_retries()));
    Err("no".to_owned())
}

#[tokio::test(start_paused = true)]
async fn two_tiers_of_retries_multiply() {
    // (2 + 1) runs in each of (1 + 1) attempts. The runtime's clock is paused, the store's is ours.
    let seen = Seen::default();
    let inbox = TestInbox::builder().state(seen.clone()).build().await.unwrap();
    let id = inbox.schedule(Flaky).await.message_id();
    inbox.drain().await;
    inbox.advance(Duration::from_mins(1));
    inbox.drain().await;
    assert_eq!(seen.take(), ["1.0", "1.1", "1.2", "2.0", "2.1", "2.2"]);
    assert_eq!(state(&inbox, id).await.0, DeliveryState::Dead);
}

#[inbox_contract(name = "item", version = 1)]
#[derive(Serialize, Deserialize)]
struct Item {
    number: u32,
}

#[handler(key = "items", batch = 3)]
async fn items(batch: Batch<Item>, State(seen): State<Seen>) {
    let numbers: Vec<_> = batch.into_iter().map(|item| item.number.to_string()).collect();
    seen.note(numbers.join(" "));
}

#[tokio::test]
async fn a_batch_handler_is_given_several_at_once() {
    let (inbox, seen) = inbox().await;
    for number in 1..=5 {
        inbox.schedule(Item { number }).await;
    }
    assert_eq!(inbox.drain().await.completed, 5);
    assert_eq!(seen.take(), ["1 2 3", "4 5"]);
}

#[tokio::test]
async fn limits_of_the_inbox_are_those_of_its_scheduler() {
    let limits = Limits { payload: 10, ..Limits::default() };
    let builder = TestInbox::builder().state(Seen::default());
    let inbox = builder.with(move |inbox| inbox.limits(limits)).build().await.unwrap();
    let refused = inbox.inbox().scheduler().schedule(pay("a", 0), ScheduleOptions::new()).await;
    assert!(matches!(refused, Err(ScheduleError::TooLarge { .. })));
    let counts = inbox.inbox().store().counts().await.unwrap();
    assert!(counts.is_empty(), "{counts:?}");
}
