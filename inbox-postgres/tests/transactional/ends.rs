use inbox::ScheduleOptions;
use inbox::store::DeliveryState;

use crate::kit::{Application, Book, Then};
use crate::reach::PATIENCE;

#[tokio::test]
async fn success_is_committed_together_with_what_the_handler_wrote() {
    let application = Application::start().await;
    let id = application.schedule(1, Then::Succeed).await;
    let report = application.inbox.process_some(1).await.unwrap();
    assert_eq!((report.leased, report.completed, report.lost), (1, 1, 0), "{report:?}");
    assert_eq!(application.booked().await, [1]);
    assert_eq!(application.outcome(id).await, (DeliveryState::Completed, vec![]));
    // The delivery and the row are of one transaction.
    let same = "SELECT booked.xmin = done.xmin FROM booked, inbox.done";
    assert!(application.client.query_one(same, &[]).await.unwrap().get::<_, bool>(0));
    application.assert_nothing_is_open().await;
}

#[tokio::test]
async fn after_an_error_nothing_is_written_and_the_failure_is_recorded() {
    let application = Application::start().await;
    let id = application.schedule(1, Then::Fail).await;
    assert_eq!(application.inbox.process_pending().await.unwrap().retried, 1);
    assert_eq!(application.booked().await, Vec::<i64>::new());
    let (state, errors) = application.outcome(id).await;
    assert_eq!((state, errors), (DeliveryState::Waiting, vec!["as told".to_owned()]));
    assert_eq!(application.desk.runs(), 2, "it is repeated at once as often as the handler says");
    application.assert_nothing_is_open().await;
}

#[tokio::test]
async fn after_a_panic_nothing_is_written_and_the_failure_is_recorded() {
    let application = Application::start().await;
    let id = application.schedule(1, Then::Panic).await;
    assert_eq!(application.inbox.process_pending().await.unwrap().retried, 1);
    assert_eq!(application.booked().await, Vec::<i64>::new());
    let (state, errors) = application.outcome(id).await;
    assert_eq!(state, DeliveryState::Waiting);
    assert!(errors[0].contains("panicked: as told"), "{errors:?}");
}

#[tokio::test]
async fn each_repetition_within_an_attempt_has_a_transaction_of_its_own() {
    let application = Application::start().await;
    let id = application.schedule(1, Then::FailFirst).await;
    assert_eq!(application.inbox.process_pending().await.unwrap().completed, 1);
    assert_eq!((application.desk.runs(), application.booked().await), (2, vec![1]));
    assert_eq!(application.outcome(id).await, (DeliveryState::Completed, vec![]));
}

#[tokio::test]
async fn run_now_commits_what_the_handler_wrote_and_settles_nothing() {
    let application = Application::start().await;
    application.inbox.run_now(Book { id: 1, then: Then::Succeed }).await.unwrap();
    application.inbox.run_now(Book { id: 2, then: Then::Fail }).await.unwrap_err();
    assert_eq!(application.booked().await, [1]);
    let stored = "SELECT count(*) FROM inbox.message";
    assert_eq!(application.client.query_one(stored, &[]).await.unwrap().get::<_, i64>(0), 0);
    let options = ScheduleOptions::new();
    let book = Book { id: 3, then: Then::Succeed };
    application.inbox.run_now_on("book", book, options).await.unwrap();
    assert_eq!(application.booked().await, [1, 3]);
}

#[tokio::test]
async fn a_host_counts_and_tells_what_a_transaction_settled() {
    use std::sync::{Arc, Mutex};

    use inbox::hosting::{Event, Observer};

    struct Settled(Arc<Mutex<Vec<DeliveryState>>>, tokio::sync::mpsc::UnboundedSender<()>);

    impl Observer for Settled {
        fn notice(&self, event: &Event) {
            if let Event::Settled { state, .. } = event {
                self.0.lock().unwrap().push(*state);
                self.1.send(()).unwrap();
            }
        }
    }

    let application = Application::start().await;
    let (told, mut hears) = tokio::sync::mpsc::unbounded_channel();
    let states = Arc::default();
    let inbox = inbox::Inbox::builder(application.inbox.store().as_ref().clone())
        .state(application.desk.clone())
        .observer(Settled(Arc::clone(&states), told))
        .build()
        .await
        .unwrap();
    let host = inbox.start().unwrap();
    for id in 1..=20 {
        application.schedule(id, Then::Succeed).await;
    }
    application.schedule(21, Then::Fail).await;
    for _ in 1..=21 {
        hears.recv().await.unwrap();
    }
    let report = host.shutdown(PATIENCE).await;
    assert_eq!((report.released, report.left), (0, 0));
    let states = states.lock().unwrap().clone();
    let completed = states.iter().filter(|state| **state == DeliveryState::Completed).count();
    assert_eq!((completed, states.len()), (20, 21));
    assert_eq!(application.booked().await, (1..=20).collect::<Vec<i64>>());
    let load = inbox.control().health().load;
    assert_eq!((load.running, load.unsettled, load.buffered), (0, 0, 0));
}

#[tokio::test]
async fn a_store_without_transactions_is_refused_with_what_to_do() {
    let store = inbox_testing::TestInbox::builder().state(crate::kit::Desk::new()).build().await;
    let error = store.unwrap_err().to_string();
    assert!(error.contains("`&mut inbox::postgres::Transaction`"), "{error}");
    assert!(error.contains("`inbox::postgres::connect(url)`"), "{error}");
    assert!(error.contains("`book`"), "{error}");
}

#[tokio::test]
async fn a_pool_of_the_application_works_as_well() {
    use inbox::postgres::deadpool_postgres::{Manager, Pool};
    use inbox::postgres::tokio_postgres::NoTls;

    let application = Application::start().await;
    let manager = Manager::new(application.proxy.config().clone(), NoTls);
    let pool = Pool::builder(manager).max_size(2).build().unwrap();
    let store = crate::kit::options().open_pool(pool).await.unwrap();
    let inbox = inbox::Inbox::builder(store).state(application.desk.clone()).build().await.unwrap();
    let id = application.schedule(1, Then::Schedule).await;
    assert_eq!(inbox.process_some(1).await.unwrap().completed, 1);
    assert_eq!(application.booked().await, [1]);
    assert_eq!(application.outcome(id).await.0, DeliveryState::Completed);
    assert_eq!(inbox.process_pending().await.unwrap().completed, 1, "the follow-up");
}
