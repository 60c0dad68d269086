use inbox::store::{DeliveryFilter, DeliveryState, Inspect as _, LeaseStore as _};

use crate::kit::{Application, Then, in_time};

fn notices() -> DeliveryFilter {
    DeliveryFilter { contract: Some("notice".to_owned()), ..DeliveryFilter::default() }
}

#[tokio::test]
async fn what_a_handler_schedules_in_its_transaction_is_stored_with_it_and_workers_are_woken() {
    let application = Application::start().await;
    let id = application.schedule(1, Then::Schedule).await;
    let mut bell = application.inbox.store().bell().unwrap().listener();
    assert_eq!(application.inbox.process_some(1).await.unwrap().completed, 1);
    in_time(bell.heard()).await;
    let page = application.inbox.list(notices()).await.unwrap();
    assert_eq!(page.deliveries.len(), 1);
    assert_eq!(page.deliveries[0].state, DeliveryState::Pending);
    let notice = application.inbox.status(page.deliveries[0].message_id).await.unwrap().unwrap();
    let message = notice.stored.message;
    let id = id.to_string();
    assert_eq!(message.causation_id.as_deref(), Some(&*id), "it follows from the command");
    assert_eq!(message.correlation_id.as_deref(), Some(&*id));
    assert_eq!(application.inbox.process_some(1).await.unwrap().completed, 1);
}

#[tokio::test]
async fn what_a_handler_scheduled_before_it_failed_is_not_there() {
    let application = Application::start().await;
    application.schedule(1, Then::ScheduleAndFail).await;
    assert_eq!(application.inbox.process_pending().await.unwrap().retried, 1);
    assert_eq!(application.inbox.store().list(notices()).await.unwrap().deliveries, []);
}

#[tokio::test]
async fn the_handlers_own_statements_are_planned_as_the_database_has_it() {
    let application = Application::start().await;
    application.client.batch_execute("CREATE TABLE planned (n int, how text)").await.unwrap();
    let settled = "CREATE FUNCTION settled() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                       INSERT INTO planned SELECT 0, current_setting('enable_seqscan');
                       RETURN NEW;
                   END $$;
                   CREATE TRIGGER settled BEFORE INSERT ON inbox.done
                       FOR EACH ROW EXECUTE FUNCTION settled()";
    application.client.batch_execute(settled).await.unwrap();
    application.schedule(1, Then::LookAtPlans).await;
    assert_eq!(application.inbox.process_some(1).await.unwrap().completed, 1);
    let rows =
        application.client.query("SELECT n, how FROM planned ORDER BY n", &[]).await.unwrap();
    let planned: Vec<(i32, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let expected = [(0, "off"), (1, "on"), (2, "on")];
    assert_eq!(planned, expected.map(|(n, how)| (n, how.to_owned())));
}
