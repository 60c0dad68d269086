use std::time::Duration;

use inbox::store::{DeliveryState, StoreErrorKind};
use inbox_tests::faulty::{Trouble, Verb, Write};

use crate::kit::{self, Script, What, in_order, schedule};

/// The first of four of these steps passes, and the second stops the run.
async fn stops(second: What) {
    let script = Script::new();
    let (inbox, store) = kit::inbox(&script).await;
    let inbox = inbox.build().await.unwrap();
    let ids = schedule(&inbox, &[What::Pass, second, What::Pass, What::Pass]).await;
    let report = inbox.process_some(4).await.unwrap();
    assert_eq!((report.completed, report.retried, report.released), (1, 1, 2), "{second:?}");
    assert_eq!(script.began(), [0, 1], "{second:?}");
    let [completed, waiting, pending] =
        [DeliveryState::Completed, DeliveryState::Waiting, DeliveryState::Pending];
    assert_eq!(in_order(&store, &ids), [completed, waiting, pending, pending], "{second:?}");
    let record = inbox.status(ids[3]).await.unwrap().unwrap();
    assert_eq!(record.deliveries[0].attempts, 0, "it was not tried");
}

#[tokio::test(start_paused = true)]
async fn what_is_behind_a_delivery_that_is_tried_again_is_given_back_in_its_order() {
    for second in [What::Fail, What::Snooze, What::Panic] {
        stops(second).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_and_what_is_given_back_behind_it_are_written_together() {
    let script = Script::new();
    let (inbox, store) = kit::inbox(&script).await;
    let inbox = inbox.build().await.unwrap();
    let ids = schedule(&inbox, &[What::Fail, What::Pass, What::Pass]).await;
    inbox.process_some(3).await.unwrap();
    let Some(Write::Sent(sent)) = store.writes().into_iter().next() else { panic!("nothing sent") };
    assert_eq!(sent.iter().map(|(id, _)| *id).collect::<Vec<_>>(), ids);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_behind_a_settlement_that_could_not_be() {
    let script = Script::new();
    let (inbox, store) = kit::inbox(&script).await;
    let inbox = inbox.build().await.unwrap();
    let ids = schedule(&inbox, &[What::Pass; 6]).await;
    // The first one is on its way until all others are decided.
    store.trouble(Verb::Settle, Trouble::Slow(Duration::from_secs(2)), 1);
    let fails = {
        let (store, script) = (store.clone(), script.clone());
        tokio::spawn(async move {
            script.until_began(6).await;
            store.called(Verb::Settle, |calls| calls.begun == 1).await;
            store.trouble(Verb::Settle, Trouble::Fails(StoreErrorKind::Other), 6);
        })
    };
    // The group of the others fails, and then the first of them alone; by then all is well again.
    inbox.process_pending().await.unwrap_err();
    fails.await.unwrap();
    let sent = store.writes().into_iter().filter_map(|write| match write {
        Write::Sent(sent) => Some(sent.into_iter().map(|(id, _)| id).collect::<Vec<_>>()),
        Write::Written(_) => None,
    });
    let sent = sent.collect::<Vec<_>>();
    let mut expected = vec![ids[..1].to_vec()];
    expected.extend(vec![ids[1..].to_vec(); 5]);
    expected.push(ids[1..2].to_vec());
    assert_eq!(sent, expected);
}

#[tokio::test(start_paused = true)]
async fn behind_a_delivery_that_was_lost_nothing_is_written_or_begun() {
    let script = Script::new();
    let (inbox, store) = kit::inbox(&script).await;
    let inbox = inbox.build().await.unwrap();
    let whats: Vec<_> = [What::Pass, What::Wait].into_iter().chain([What::Pass; 4]).collect();
    let ids = schedule(&inbox, &whats).await;
    // Done, but nobody hears of it or may look it up: as if another worker had taken it.
    store.trouble(Verb::Settle, Trouble::AnswersNothing, 1);
    store.trouble(Verb::Show, Trouble::Fails(StoreErrorKind::ReadOnly), u32::MAX);
    let working = tokio::spawn(async move { inbox.process_some(6).await });
    script.until_began(2).await;
    store.called(Verb::Settle, |calls| calls.answered == 1).await;
    store.called(Verb::Show, |calls| calls.begun == 1).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    script.permit(1);
    let report = working.await.unwrap().unwrap();
    assert_eq!((report.leased, report.lost, report.completed), (6, 6, 0));
    assert_eq!(script.began(), [0, 1]);
    let sent = store.writes().into_iter().filter_map(|write| match write {
        Write::Sent(sent) => Some(sent.len() == 1 && sent[0].0 == ids[0]),
        Write::Written(_) => None,
    });
    assert_eq!(sent.collect::<Vec<_>>(), [true, true]);
}
