use inbox::ScheduleOptions;
use inbox::store::DeliveryState;

use crate::kit::{Application, Sum};

async fn schedule(application: &Application, ids: [i64; 3], failing: Option<i64>) {
    for id in ids {
        let sum = Sum { id, fails: failing == Some(id) };
        application.inbox.scheduler().schedule(sum, ScheduleOptions::new()).await.unwrap();
    }
}

async fn count(application: &Application, state: DeliveryState) -> i64 {
    let count = "SELECT count(*) FROM inbox.delivery WHERE handler_key = 'sum' AND state = $1";
    let row = application.client.query_one(count, &[&state.as_str()]).await.unwrap();
    row.get(0)
}

#[tokio::test]
async fn a_batch_is_settled_in_one_transaction() {
    let application = Application::start().await;
    schedule(&application, [1, 2, 3], None).await;
    let report = application.inbox.process_some(3).await.unwrap();
    assert_eq!((report.leased, report.completed), (3, 3), "{report:?}");
    assert_eq!((application.desk.runs(), application.booked().await), (1, vec![1, 2, 3]));
    let transactions = "SELECT count(DISTINCT xmin::text) FROM (
        SELECT xmin FROM inbox.done UNION ALL SELECT xmin FROM booked) AS written";
    let row = application.client.query_one(transactions, &[]).await.unwrap();
    assert_eq!(row.get::<_, i64>(0), 1);
    assert_eq!(application.inbox.process_pending().await.unwrap().completed, 3, "the follow-ups");
}

#[tokio::test]
async fn a_batch_that_fails_leaves_nothing() {
    let application = Application::start().await;
    schedule(&application, [1, 2, 3], Some(2)).await;
    assert_eq!(application.inbox.process_pending().await.unwrap().retried, 3);
    assert_eq!(application.booked().await, Vec::<i64>::new());
    assert_eq!(count(&application, DeliveryState::Waiting).await, 3);
    assert_eq!(application.inbox.process_pending().await.unwrap().leased, 0, "no follow-ups");
}

#[tokio::test]
async fn a_batch_of_which_a_lease_was_lost_is_not_written_and_the_others_are_tried_again() {
    let application = Application::start().await;
    schedule(&application, [-1, 2, 3], None).await;
    let inbox = application.inbox.clone();
    let pass = tokio::spawn(async move { inbox.process_some(3).await.unwrap() });
    application.desk.begun.notified().await;
    // The first of them is taken away.
    let take = "WITH taken AS (
                    DELETE FROM inbox.held WHERE message_id IN (
                        SELECT id FROM inbox.message WHERE payload @> '{\"id\": -1}')
                    RETURNING *)
                INSERT INTO inbox.ready (handler_key, priority, version, message_id, tenant)
                SELECT handler_key, priority, version, message_id, tenant FROM taken";
    assert_eq!(application.client.execute(take, &[]).await.unwrap(), 1);
    application.desk.go_on();
    let report = pass.await.unwrap();
    let booked = application.booked().await;
    assert_eq!((report.completed, report.lost + report.released), (0, 3), "{report:?}");
    assert!(report.lost == 1 && booked.is_empty(), "{report:?} {booked:?}");
    while !application.booked().await.contains(&-1) {
        application.desk.go_on();
        application.inbox.process_some(1).await.unwrap();
    }
    while application.inbox.process_pending().await.unwrap().leased > 0 {}
    assert_eq!(application.booked().await, [-1, 2, 3]);
    assert_eq!(count(&application, DeliveryState::Completed).await, 3);
}
