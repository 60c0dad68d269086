//! Handlers run at once, through everything that stands around them, storing nothing.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use inbox::hosting::RunNowError;
use inbox::store::Inspect as _;
use inbox::testing::{TestInbox, assert_scheduled};
use inbox::{Context, HandlerError, ScheduleOptions, handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "event", version = 1)]
#[derive(Serialize, Deserialize)]
struct Event {
    fails: bool,
}

#[handler(key = "first")]
async fn first(event: Event) -> Result<(), String> {
    if event.fails { Err("it was told to".to_owned()) } else { Ok(()) }
}

#[handler(key = "second", legacy = ["second-before"])]
async fn second(event: Event, context: Context) {
    assert!(!event.fails, "{} says no", context.tenant());
}

#[inbox_contract(name = "begin", version = 1)]
#[derive(Serialize, Deserialize)]
struct Begin;

#[handler(key = "begin")]
async fn begin(_command: Begin, context: Context) -> Result<(), inbox::schedule::ScheduleError> {
    context.scheduler().schedule(Event { fails: false }, ScheduleOptions::new()).await?;
    Ok(())
}

#[inbox_contract(name = "nobody", version = 1)]
#[derive(Serialize, Deserialize)]
struct Nobody;

async fn inbox() -> TestInbox {
    TestInbox::builder().build().await.unwrap()
}

#[tokio::test]
async fn every_handler_runs_and_nothing_is_stored() {
    let inbox = inbox().await;
    inbox.inbox().run_now(Event { fails: false }).await.unwrap();
    assert!(inbox.inbox().store().counts().await.unwrap().is_empty());
}

#[tokio::test]
async fn every_failure_is_told_with_its_handler() {
    let inbox = inbox().await;
    let options = ScheduleOptions::new().tenant("acme");
    let error = inbox.inbox().run_now_with(Event { fails: true }, options).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "handler `first` failed: it was told to; handler `second` failed: the handler panicked: \
         acme says no"
    );
}

#[tokio::test]
async fn a_command_without_a_handler_says_what_to_do() {
    let error = inbox().await.inbox().run_now(Nobody).await.unwrap_err();
    assert!(matches!(error, RunNowError::NoHandler { contract: "nobody", version: 1 }));
    assert!(error.to_string().contains("link the crate that has one"), "{error}");
}

#[tokio::test]
async fn one_handler_is_run_alone_by_any_of_its_keys() {
    let inbox = inbox().await;
    for key in ["second", "second-before"] {
        let error = inbox.run(key, Event { fails: true }).await.unwrap_err();
        assert!(matches!(error, HandlerError::Panicked { .. }), "{error}");
    }
    inbox.run("begin", Begin).await.unwrap();
    assert_scheduled!(inbox, Event);
    let unknown = inbox.inbox().run_now_on("third", Begin, ScheduleOptions::new()).await;
    let expected = "no handler of this program answers to `third`: there are begin, first, second, \
                    second-before";
    assert_eq!(unknown.unwrap_err().to_string(), expected);
}

#[tokio::test]
async fn a_handler_of_another_contract_refuses() {
    let (inbox, options) = (inbox().await, ScheduleOptions::new());
    let refused = inbox.inbox().run_now_on("begin", Event { fails: false }, options).await;
    let expected = "the handler `begin` takes contract `begin`, not `event`";
    assert_eq!(refused.unwrap_err().to_string(), expected);
}
