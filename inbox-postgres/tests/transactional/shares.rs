use inbox::store::{DeliveryState, LaneFilter};
use inbox::{MessageId, ScheduleOptions};

use crate::kit::{Application, Book, Then};

/// Books one of a lane.
async fn schedule(application: &Application, id: i64, then: Then) -> MessageId {
    let options = ScheduleOptions::new().ordering_key("account-7");
    let receipt = application.inbox.scheduler().schedule(Book { id, then }, options).await;
    receipt.unwrap().message_id()
}

async fn pass(application: &Application) {
    while application.inbox.process_pending().await.unwrap().leased > 0 {}
}

#[tokio::test]
async fn each_of_a_run_is_settled_in_the_transaction_of_its_handler_before_the_next_begins() {
    let application = Application::start().await;
    let first = schedule(&application, 1, Then::Succeed).await;
    let second = schedule(&application, 2, Then::Wait).await;
    let inbox = application.inbox.clone();
    let passes =
        tokio::spawn(async move { while inbox.process_pending().await.unwrap().leased > 0 {} });
    application.desk.begun.notified().await;
    // The second is at work. The first was settled with what it wrote.
    let same = "SELECT done.xmin = booked.xmin FROM inbox.done, booked
                WHERE booked.id = 1 AND done.message_id::text = $1";
    let row = application.client.query_one(same, &[&first.to_string()]).await.unwrap();
    assert!(row.get::<_, bool>(0), "it was settled by another transaction");
    let lanes = application.inbox.lanes(LaneFilter::default()).await.unwrap();
    assert_eq!((lanes[0].head, lanes[0].behind), (second, 0));
    application.desk.go_on();
    passes.await.unwrap();
    assert_eq!(application.booked().await, [1, 2]);
    assert_eq!(application.inbox.lanes(LaneFilter::default()).await.unwrap(), []);
}

#[tokio::test]
async fn a_head_that_is_rolled_back_keeps_its_lane() {
    for then in [Then::Fail, Then::Panic, Then::BreakADeferredConstraint] {
        let application = Application::start().await;
        let first = schedule(&application, 1, then).await;
        let second = schedule(&application, 2, Then::Succeed).await;
        pass(&application).await;
        assert_eq!(application.booked().await, Vec::<i64>::new(), "{then:?}");
        assert_eq!(application.outcome(first).await.0, DeliveryState::Waiting, "{then:?}");
        assert_ne!(application.outcome(second).await.0, DeliveryState::Completed, "{then:?}");
        let lanes = application.inbox.lanes(LaneFilter::default()).await.unwrap();
        assert_eq!((lanes.len(), lanes[0].head, lanes[0].behind), (1, first, 1), "{then:?}");
    }
}

#[tokio::test]
async fn a_lane_goes_on_in_order_whatever_becomes_of_the_answer_to_a_commit() {
    for is_committed in [true, false] {
        let application = Application::start().await;
        application.schedule(9, Then::Succeed).await;
        pass(&application).await;
        schedule(&application, 1, Then::Succeed).await;
        schedule(&application, 2, Then::Succeed).await;
        // What a handler's transaction sends with its commit, and a claim does not.
        match is_committed {
            true => application.proxy.lose_reply_to("SET CONSTRAINTS"),
            false => application.proxy.cut_before("SET CONSTRAINTS"),
        }
        pass(&application).await;
        assert_eq!(application.proxy.lost(), 1);
        // Each once, and in the order of their transactions.
        let order = "SELECT array_agg(id ORDER BY turn) FROM (
            SELECT id, xmin::text::bigint AS turn FROM booked WHERE id < 9
        ) AS one";
        let booked: Vec<i64> = application.client.query_one(order, &[]).await.unwrap().get(0);
        assert_eq!(booked, [1, 2], "{is_committed}");
        assert_eq!(application.inbox.lanes(LaneFilter::default()).await.unwrap(), []);
    }
}
