use inbox::ScheduleOptions;
use inbox::store::{DeliveryState, Maintain as _, Now};

use crate::kit::{Application, Slow, Then, in_time, options};

/// Waits until a statement waits for a lock.
async fn until_someone_waits(application: &Application) {
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while application.client.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) == 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn after_a_timeout_nothing_is_written_and_the_connection_is_not_used_again() {
    let application = Application::start().await;
    let slow = Slow { id: 1, hangs: true };
    let receipt = application.inbox.scheduler().schedule(slow, ScheduleOptions::new()).await;
    assert_eq!(application.inbox.process_pending().await.unwrap().retried, 1);
    let (state, errors) = application.outcome(receipt.unwrap().message_id()).await;
    assert_eq!(state, DeliveryState::Waiting);
    assert!(errors[0].contains("timeout of 200ms"), "{errors:?}");
    application.schedule(2, Then::Succeed).await;
    assert_eq!(application.inbox.process_pending().await.unwrap().completed, 1);
    assert_eq!(application.booked().await, [2]);
}

#[tokio::test]
async fn a_timeout_never_cuts_off_the_settlement_or_the_commit() {
    let application = Application::start().await;
    // Five times as long as the handler may take.
    application.strike("inbox.done", "IMMEDIATE", 1, "PERFORM pg_sleep(1);").await;
    let slow = Slow { id: 1, hangs: false };
    let receipt = application.inbox.scheduler().schedule(slow, ScheduleOptions::new()).await;
    assert_eq!(application.inbox.process_pending().await.unwrap().completed, 1);
    let outcome = application.outcome(receipt.unwrap().message_id()).await;
    assert_eq!((application.desk.runs(), outcome.0), (1, DeliveryState::Completed));
}

#[tokio::test]
async fn a_commit_that_nobody_waits_for_any_more_goes_on_to_its_end() {
    let application = Application::start().await;
    let id = application.schedule(1, Then::Succeed).await;
    let lock = "PERFORM pg_advisory_xact_lock(1);";
    application.strike("inbox.done", "IMMEDIATE", 1, lock).await;
    application.client.batch_execute("SELECT pg_advisory_lock(1)").await.unwrap();
    let inbox = application.inbox.clone();
    let pass = tokio::spawn(async move { inbox.process_pending().await });
    until_someone_waits(&application).await;
    pass.abort();
    assert!(pass.await.unwrap_err().is_cancelled());
    application.client.batch_execute("SELECT pg_advisory_unlock(1)").await.unwrap();
    let completed = async {
        while application.outcome(id).await.0 != DeliveryState::Completed {
            tokio::task::yield_now().await;
        }
    };
    in_time(completed).await;
    assert_eq!(application.booked().await, [1]);
    assert_eq!(application.inbox.process_pending().await.unwrap().leased, 0);
    assert_eq!(application.desk.runs(), 1);
}

#[tokio::test]
async fn a_lease_that_was_lost_meanwhile_lets_nothing_be_written() {
    let application = Application::start().await;
    let id = application.schedule(1, Then::Wait).await;
    let inbox = application.inbox.clone();
    let pass = tokio::spawn(async move { inbox.process_some(1).await.unwrap() });
    application.desk.begun.notified().await;
    let expire = "UPDATE inbox.lease SET expires_at = clock_timestamp() - interval '1 s'";
    assert_eq!(application.client.execute(expire, &[]).await.unwrap(), 1);
    let reclaimed = application.inbox.store().reclaim(10, Now::OfStore).await.unwrap();
    assert_eq!(reclaimed.returned(), 1);
    application.desk.go_on();
    let report = pass.await.unwrap();
    assert_eq!((report.lost, report.completed, report.retried), (1, 0, 0), "{report:?}");
    assert_eq!(application.desk.runs(), 1, "nobody tries again what is another's");
    assert_eq!(application.booked().await, Vec::<i64>::new());
    assert_eq!(application.outcome(id).await.1.len(), 1, "only that its worker vanished");
    application.desk.go_on();
    assert_eq!(application.inbox.process_pending().await.unwrap().completed, 1);
    assert_eq!(application.booked().await, [1]);
}

#[tokio::test]
async fn one_connection_is_enough() {
    let application = Application::start_with(options().connections(1)).await;
    for id in 1..=5 {
        application.schedule(id, Then::Schedule).await;
    }
    assert_eq!(application.inbox.process_pending().await.unwrap().completed, 10);
    assert_eq!(application.booked().await, [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn limits_that_a_handler_sets_for_itself_do_not_cut_off_the_settlement() {
    let application = Application::start().await;
    // The handler's own limit is more than a busy machine takes for a statement, and less than this.
    application.strike("inbox.done", "IMMEDIATE", 1, "PERFORM pg_sleep(6);").await;
    let limit =
        "ALTER TABLE booked ADD limited text DEFAULT set_config('statement_timeout', '5s', true)";
    application.client.batch_execute(limit).await.unwrap();
    application.schedule(1, Then::Succeed).await;
    assert_eq!(application.inbox.process_pending().await.unwrap().completed, 1);
    assert_eq!(application.desk.runs(), 1);
}
