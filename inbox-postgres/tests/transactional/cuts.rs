use inbox::store::DeliveryState;

use crate::kit::{Application, Then};

/// Books one command, whose connection is cut in some way, and counts the runs of its handler.
async fn booked_once(application: &Application, then: Then) -> u32 {
    let before = application.desk.runs();
    let id = application.schedule(7, then).await;
    let report = application.inbox.process_some(1).await.unwrap();
    assert_eq!((report.completed, report.lost), (1, 0), "{report:?}");
    assert_eq!(application.booked().await.iter().filter(|id| **id == 7).count(), 1);
    // Within the attempt: nothing went wrong that anyone need hear of.
    assert_eq!(application.outcome(id).await, (DeliveryState::Completed, vec![]));
    application.desk.runs() - before
}

/// One that has booked before.
async fn warm() -> Application {
    let application = Application::start().await;
    application.schedule(1, Then::Schedule).await;
    while application.inbox.process_pending().await.unwrap().leased > 0 {}
    application
}

#[tokio::test]
async fn a_commit_whose_answer_is_lost_is_looked_up_and_not_done_again() {
    let application = warm().await;
    application.proxy.lose_reply_to("COMMIT\0");
    assert_eq!(booked_once(&application, Then::Schedule).await, 1, "it was committed");
    assert_eq!(application.proxy.lost(), 1);
}

#[tokio::test]
async fn a_commit_that_never_arrived_is_looked_up_and_done_again() {
    let application = warm().await;
    application.proxy.cut_before("COMMIT\0");
    assert_eq!(booked_once(&application, Then::Schedule).await, 2, "it was rolled back");
    assert_eq!(application.proxy.lost(), 1);
}

#[tokio::test]
async fn a_connection_that_breaks_at_any_step_costs_no_attempt_and_no_effect() {
    for (step, cut, runs) in [
        ("BEGIN ISOLATION", true, 1),
        ("BEGIN ISOLATION", false, 1),
        ("INSERT INTO booked", true, 2),
        ("INSERT INTO booked", false, 2),
        ("SET CONSTRAINTS", true, 2),
        // The settlement and the commit have arrived with it.
        ("SET CONSTRAINTS", false, 1),
    ] {
        let application = warm().await;
        match cut {
            true => application.proxy.cut_before(step),
            false => application.proxy.lose_reply_to(step),
        }
        assert_eq!(booked_once(&application, Then::Schedule).await, runs, "{step}, {cut}");
        assert_eq!(application.proxy.lost(), 1, "{step}, {cut}");
    }
}

#[tokio::test]
async fn a_server_process_that_is_terminated_at_any_step_costs_no_attempt_and_no_effect() {
    // In a statement of the handler; while it is settled. Both are seen within the attempt.
    // And in a check that was put off to the end.
    for (table, when) in
        [("booked", "IMMEDIATE"), ("inbox.done", "IMMEDIATE"), ("booked", "DEFERRED")]
    {
        let application = warm().await;
        let terminate = "PERFORM pg_terminate_backend(pg_backend_pid());";
        application.strike(table, when, 1, terminate).await;
        assert_eq!(booked_once(&application, Then::Schedule).await, 2, "{table} {when}");
    }
}

#[tokio::test]
async fn a_connection_that_is_terminated_while_the_handler_does_other_things_costs_nothing() {
    let application = warm().await;
    let id = application.schedule(7, Then::Wait).await;
    let inbox = application.inbox.clone();
    let pass = tokio::spawn(async move { inbox.process_pending().await.unwrap() });
    application.desk.begun.notified().await;
    let pid = application.desk.backends.lock().unwrap()[&7];
    let terminate = "SELECT pg_terminate_backend($1, 600000)";
    assert!(application.client.query_one(terminate, &[&pid]).await.unwrap().get::<_, bool>(0));
    application.desk.go_on();
    application.desk.go_on();
    assert_eq!(pass.await.unwrap().completed, 1);
    assert_eq!(application.booked().await, [1, 7]);
    assert_eq!(application.outcome(id).await, (DeliveryState::Completed, vec![]));
}

#[tokio::test]
async fn run_now_is_not_repeated_when_nobody_knows_whether_it_was_committed() {
    let application = warm().await;
    application.proxy.lose_reply_to("COMMIT\0");
    let book = crate::kit::Book { id: 7, then: Then::Succeed };
    let error = application.inbox.run_now(book).await.unwrap_err().to_string();
    assert!(error.contains("is not known"), "{error}");
    assert_eq!(application.desk.runs(), 2, "it is not repeated");
    // A pooler may see the connection end before it has passed the commit on.
    let booked = application.booked().await;
    assert!([&[1, 7][..], &[1]].contains(&&booked[..]), "{booked:?}");
}
