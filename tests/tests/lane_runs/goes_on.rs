use std::time::Duration;

use inbox::store::{DeliveryState, Inspect as _};
use inbox::{ScheduleOptions, Timestamp};
use inbox_tests::faulty::{Trouble, Verb};

use crate::kit::{self, PassingStep, Script, Step, What, health_is, in_order, schedule};

#[tokio::test(start_paused = true)]
async fn a_run_is_executed_and_settled_in_its_order() {
    let script = Script::new();
    let (inbox, store) = kit::inbox(&script).await;
    let inbox = inbox.build().await.unwrap();
    let ids = schedule(&inbox, &[What::Pass; 40]).await;
    let report = inbox.process_pending().await.unwrap();
    assert_eq!((report.leased, report.completed), (40, 40));
    assert_eq!(script.began(), (0..40).collect::<Vec<_>>());
    assert_eq!(in_order(&store, &ids), [DeliveryState::Completed; 40]);
}

#[tokio::test(start_paused = true)]
async fn what_was_decided_waits_for_what_is_being_written_of_its_run() {
    let script = Script::new();
    let (inbox, store) = kit::inbox(&script).await;
    let inbox = inbox.build().await.unwrap();
    let whats: Vec<_> = [What::Pass; 5].into_iter().chain([What::Fail, What::Pass]).collect();
    let ids = schedule(&inbox, &whats).await;
    store.trouble(Verb::Settle, Trouble::Slow(Duration::from_secs(2)), 2);
    let host = inbox.start().unwrap();
    // It is executed while the first settlement is on its way.
    script.until_began(6).await;
    assert_eq!(store.calls(Verb::Settle).answered, 0);
    store.called(Verb::Settle, |calls| calls.answered >= 2).await;
    let mut states = vec![DeliveryState::Completed; 5];
    states.extend([DeliveryState::Waiting, DeliveryState::Pending]);
    assert_eq!(in_order(&store, &ids), states);
    host.shutdown(Duration::from_mins(1)).await;
}

#[tokio::test(start_paused = true)]
async fn what_was_cancelled_or_is_too_late_is_settled_at_its_turn_and_the_run_goes_on() {
    let script = Script::new();
    let (inbox, store) = kit::inbox(&script).await;
    let inbox = inbox.build().await.unwrap();
    let mut ids = Vec::new();
    for number in 0..10 {
        let step = Step { number, what: if number == 0 { What::Wait } else { What::Pass } };
        let options = match number {
            5 => ScheduleOptions::new().deliver_by(Timestamp::now() + Duration::from_secs(1)),
            _ => ScheduleOptions::new(),
        };
        ids.push(inbox.scheduler().schedule(step, options).await.unwrap().message_id());
    }
    let host = inbox.start().unwrap();
    script.until_began(1).await;
    health_is(&inbox, |health| health.load.buffered == 9).await;
    inbox.cancel(ids[2]).await.unwrap();
    let renewals = store.calls(Verb::Renew).answered;
    store.called(Verb::Renew, |calls| calls.answered >= renewals + 2).await;
    script.permit(1);
    script.until_began(8).await;
    health_is(&inbox, |health| health.load.held() == 0).await;
    assert_eq!(script.began(), [0, 1, 3, 4, 6, 7, 8, 9]);
    let mut states = [DeliveryState::Completed; 10];
    (states[2], states[5]) = (DeliveryState::Cancelled, DeliveryState::Expired);
    assert_eq!(in_order(&store, &ids), states);
    host.shutdown(Duration::from_mins(1)).await;
}

#[tokio::test(start_paused = true)]
async fn behind_a_dead_delivery_a_run_goes_on_where_its_handler_says_so() {
    let script = Script::new();
    let (inbox, store) = kit::inbox(&script).await;
    let inbox = inbox.build().await.unwrap();
    let mut ids = Vec::new();
    for (number, what) in [What::Pass, What::Fail, What::Panic, What::Pass].into_iter().enumerate()
    {
        let step = PassingStep { number, what };
        let receipt = inbox.scheduler().schedule(step, ScheduleOptions::new()).await.unwrap();
        ids.push(receipt.message_id());
    }
    let report = inbox.process_pending().await.unwrap();
    assert_eq!((report.completed, report.dead, report.released), (2, 2, 0));
    assert_eq!(script.began(), [0, 1, 2, 3]);
    let states = in_order(&store, &ids);
    assert_eq!(states[1..3], [DeliveryState::Dead; 2]);
}

#[tokio::test(start_paused = true)]
async fn a_run_takes_one_call_and_leaves_the_others_to_others() {
    let script = Script::new();
    let (inbox, store) = kit::inbox(&script).await;
    let inbox = inbox.concurrency(2).build().await.unwrap();
    // Claims of two, so that there is more than one run.
    schedule(&inbox, &[What::Wait; 6]).await;
    let host = inbox.start().unwrap();
    script.until_began(2).await;
    health_is(&inbox, |health| health.load.running == 2).await;
    script.permit(6);
    script.until_began(6).await;
    health_is(&inbox, |health| health.load.held() == 0).await;
    assert_eq!(store.counts().await.unwrap()[0].count, 6);
    host.shutdown(Duration::from_mins(1)).await;
}
