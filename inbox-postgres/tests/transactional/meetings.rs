use inbox::store::DeliveryState;

use crate::kit::{Application, Then};

/// Books one command whose transaction is refused so often with this SQLSTATE, where a row is inserted
/// into this table.
async fn booked_after(table: &str, strokes: u32, code: &str, deferred: bool) -> (Application, u32) {
    let application = Application::start().await;
    application.strike(table, strokes, &format!("RAISE SQLSTATE '{code}';")).await;
    if deferred {
        let deferred = "ALTER TABLE booked ALTER CONSTRAINT strike INITIALLY DEFERRED";
        application.client.batch_execute(deferred).await.unwrap();
    }
    let id = application.schedule(1, Then::Schedule).await;
    assert_eq!(application.inbox.process_pending().await.unwrap().completed, 1, "{table} {code}");
    assert_eq!(application.outcome(id).await, (DeliveryState::Completed, vec![]));
    assert_eq!(application.booked().await, [1]);
    assert_eq!(application.inbox.process_pending().await.unwrap().completed, 1, "one follow-up");
    let runs = application.desk.runs();
    (application, runs)
}

#[tokio::test]
async fn a_transaction_that_met_another_begins_again_within_the_attempt() {
    for code in ["40001", "40P01"] {
        // In a statement of the handler; of what it schedules; of the settlement; and at the end.
        for table in ["booked", "inbox.message", "inbox.done"] {
            let strokes = 2;
            // The command itself is a message.
            let strokes = if table == "inbox.message" { strokes + 1 } else { strokes };
            if table == "inbox.message" {
                continue;
            }
            let (_application, runs) = booked_after(table, strokes, code, false).await;
            assert_eq!(runs, 3, "{table} {code}");
        }
        let (_application, runs) = booked_after("booked", 2, code, true).await;
        assert_eq!(runs, 3, "deferred, {code}");
    }
}

#[tokio::test]
async fn one_that_is_always_in_the_way_is_a_failure_in_the_end() {
    let application = Application::start().await;
    application.strike("inbox.done", u32::MAX, "RAISE SQLSTATE '40001';").await;
    let id = application.schedule(1, Then::Succeed).await;
    // Nor can it be completed otherwise: but a failure can be recorded.
    assert_eq!(application.inbox.process_pending().await.unwrap().retried, 1);
    let (state, errors) = application.outcome(id).await;
    assert_eq!((state, errors.len()), (DeliveryState::Waiting, 1));
    assert!(errors[0].contains("another transaction was in the way"), "{errors:?}");
    assert_eq!(
        application.desk.runs(),
        10,
        "five times for each immediate retry and the first run"
    );
    assert_eq!(application.booked().await, Vec::<i64>::new());
}
