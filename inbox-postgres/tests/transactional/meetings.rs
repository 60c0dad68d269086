use inbox::ScheduleOptions;
use inbox::store::DeliveryState;

use crate::kit::{Application, Cross, Then, in_time};
use crate::reach::PATIENCE;

/// Books one command whose transaction is refused so often with this SQLSTATE, where a row is inserted
/// into this table.
async fn runs_after(table: &str, when: &str, strokes: u32, code: &str) -> u32 {
    let application = Application::start().await;
    let id = application.schedule(1, Then::Schedule).await;
    application.strike(table, when, strokes, &format!("RAISE SQLSTATE '{code}';")).await;
    assert_eq!(application.inbox.process_some(1).await.unwrap().completed, 1, "{table} {code}");
    assert_eq!(application.outcome(id).await, (DeliveryState::Completed, vec![]));
    assert_eq!(application.booked().await, [1]);
    assert_eq!(application.inbox.process_pending().await.unwrap().completed, 1, "one follow-up");
    application.desk.runs()
}

#[tokio::test]
async fn a_transaction_that_met_another_begins_again_within_the_attempt() {
    for code in ["40001", "40P01"] {
        // In a statement of the handler; of what it schedules; of the settlement; and at the end.
        for table in ["booked", "inbox.message", "inbox.done"] {
            assert_eq!(runs_after(table, "IMMEDIATE", 2, code).await, 3, "{table} {code}");
        }
        assert_eq!(runs_after("booked", "DEFERRED", 2, code).await, 3, "deferred, {code}");
    }
}

#[tokio::test]
async fn of_two_that_wait_for_each_other_both_are_done_in_the_end() {
    let application = Application::start().await;
    application.client.batch_execute("INSERT INTO pair VALUES (1, 0), (2, 0)").await.unwrap();
    for (first, second) in [(1, 2), (2, 1)] {
        let cross = Cross { first, second };
        application.inbox.scheduler().schedule(cross, ScheduleOptions::new()).await.unwrap();
    }
    let host = application.inbox.start().unwrap();
    let sum = "SELECT sum(n)::bigint FROM pair";
    let both = async {
        // Twice two, when both are committed.
        while application.client.query_one(sum, &[]).await.unwrap().get::<_, i64>(0) < 4 {
            tokio::task::yield_now().await;
        }
    };
    in_time(both).await;
    let report = host.shutdown(PATIENCE).await;
    assert_eq!((report.released, report.left), (0, 0));
    assert_eq!(application.desk.runs(), 3, "one of them was the victim, once");
    let failed = "SELECT count(*) FROM inbox.attempt";
    assert_eq!(application.client.query_one(failed, &[]).await.unwrap().get::<_, i64>(0), 0);
    let each = application.client.query("SELECT n FROM pair", &[]).await.unwrap();
    assert!(each.iter().all(|row| row.get::<_, i64>(0) == 2));
}

#[tokio::test]
async fn one_that_is_always_in_the_way_is_a_failure_in_the_end() {
    let application = Application::start().await;
    application.strike("inbox.done", "IMMEDIATE", u32::MAX, "RAISE SQLSTATE '40001';").await;
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
