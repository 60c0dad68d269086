//! Whatever is scheduled is stored as it is, or refused with a typed error and nothing stored.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::time::Duration;

use inbox::schedule::ScheduleError;
use inbox::store::{DeliveryState, Inspect as _};
use inbox::testing::TestInbox;
use inbox::{ScheduleOptions, Timestamp, handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "note", version = 1)]
#[derive(Serialize, Deserialize)]
struct Note {
    text: String,
}

#[handler(key = "note")]
async fn note(_command: Note) {}

async fn inbox() -> TestInbox {
    TestInbox::builder().build().await.unwrap()
}

/// Whether an error is the right one.
type Expected = fn(&ScheduleError) -> bool;

fn keyed(key: &str) -> ScheduleOptions {
    ScheduleOptions::new().idempotency_key(key)
}

#[tokio::test]
async fn what_no_store_can_keep_is_refused_and_nothing_is_stored() {
    use ScheduleError::{DelayTooLong, Empty, Flawed, Nul, TooLarge, TooLong};
    let new = ScheduleOptions::new;
    let inbox = inbox().await;
    let mut cases: Vec<(String, ScheduleOptions, Expected)> = vec![
        ("x".repeat(10 * 1024 * 1024), new(), |error| matches!(error, TooLarge { .. })),
        ("a\0b".to_owned(), new(), |error| matches!(error, Flawed { .. })),
    ];
    let options: [(ScheduleOptions, Expected); 8] = [
        (keyed(""), |error| matches!(error, Empty { .. })),
        (keyed(&"x".repeat(201)), |error| matches!(error, TooLong { length: 201, .. })),
        (keyed(&"ж".repeat(201)), |error| matches!(error, TooLong { length: 201, .. })),
        (keyed("a\0b"), |error| matches!(error, Nul { .. })),
        (new().correlation_id("x".repeat(201)), |error| matches!(error, TooLong { .. })),
        (new().tenant("x".repeat(201)), |error| matches!(error, TooLong { .. })),
        (new().header("h", "x".repeat(20_000)), |error| matches!(error, TooLarge { .. })),
        (new().delay(Duration::MAX), |error| matches!(error, DelayTooLong { .. })),
    ];
    cases.extend(options.map(|(options, expected)| ("fine".to_owned(), options, expected)));
    for (text, options, expected) in cases {
        let shown = format!("{options:?}").chars().take(200).collect::<String>();
        let refused = inbox.inbox().scheduler().schedule(Note { text }, options).await;
        let error = refused.expect_err(&shown);
        assert!(expected(&error), "{shown}: {error}");
        assert!(error.to_string().contains("`note`"), "the contract is not named: {error}");
    }
    assert!(inbox.inbox().store().counts().await.unwrap().is_empty());
}

#[tokio::test]
async fn what_is_unusual_and_possible_is_stored_and_handled() {
    let new = ScheduleOptions::new;
    let inbox = inbox().await;
    let text = |text: &str| Note { text: text.to_owned() };
    let largest = "x".repeat(1024 * 1024 - r#"{"text":""}"#.len());
    for (command, options) in [
        (text(""), new()),
        (text(&largest), new()),
        (text("\u{1f980} \"quoted\" \\u0000 \u{202e} \r\n"), new()),
        (text("a"), keyed("k")),
        (text("b"), keyed(&"ж".repeat(200))),
        (text("c"), keyed("'; DROP TABLE inbox_message; --")),
        (text("d"), new().tenant("日本").correlation_id("é").header("ключ", "значение")),
        (text("e"), new().at(Timestamp::from_micros(i64::MIN))),
        (text("f"), new().delay(Duration::ZERO)),
    ] {
        inbox.schedule_with(command, options).await;
    }
    assert_eq!(inbox.drain().await.completed, 9);
    // In the past: settled as too late, not refused. Beyond any calendar: it waits.
    inbox.schedule_with(text("g"), new().deliver_by(Timestamp::from_micros(i64::MIN))).await;
    let last = inbox.schedule_with(text("h"), new().at(Timestamp::from_micros(i64::MAX))).await;
    let report = inbox.drain().await;
    assert_eq!((report.expired, report.leased), (1, 1));
    inbox.advance(Duration::from_hours(1_000_000));
    assert_eq!(inbox.drain().await.leased, 0);
    let waits = inbox.status(last.message_id()).await.deliveries.remove(0);
    assert_eq!(waits.state, DeliveryState::Waiting);
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_schedules_of_one_key_at_once_are_one_command() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("inbox.db");
    let mut schedulers = Vec::new();
    for _ in 0..4 {
        let store = inbox::sqlite::open(&path).await.unwrap();
        schedulers.push(inbox::Scheduler::new(std::sync::Arc::new(store)));
    }
    let start = std::sync::Arc::new(tokio::sync::Barrier::new(64));
    let calls: Vec<_> = (0..64)
        .map(|at| {
            let (scheduler, start) = (schedulers[at % 4].clone(), start.clone());
            tokio::spawn(async move {
                start.wait().await;
                let command = Note { text: "once".to_owned() };
                scheduler.schedule(command, keyed("one")).await.unwrap()
            })
        })
        .collect();
    let mut receipts = Vec::new();
    for call in calls {
        receipts.push(call.await.unwrap());
    }
    let is_new = |receipt: &&inbox::Receipt| receipt.acceptance() == inbox::Acceptance::Accepted;
    assert_eq!(receipts.iter().filter(is_new).count(), 1);
    assert!(receipts.iter().all(|receipt| receipt.message_id() == receipts[0].message_id()));
}
