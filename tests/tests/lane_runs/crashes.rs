use std::num::NonZeroU32;
use std::time::Duration;

use inbox::store::{
    Clock as _, DeliveryState, LeaseRequest, LeaseStore as _, Maintain as _, Terms, Wanted,
};
use inbox_tests::faulty::{FaultyStore, RuntimeClock, Trouble, Verb};

use crate::kit::{self, Script, What, in_order, schedule};

/// A worker takes all there is, and vanishes.
async fn vanish(store: &FaultyStore) {
    let (clock, many) = (RuntimeClock::start(), NonZeroU32::MIN.saturating_add(9));
    let wanted = Wanted {
        handler_key: "step".to_owned(),
        versions: vec![1],
        limit: many,
        max_crashes: many,
        terms: Terms::default(),
    };
    let request = LeaseRequest::new("gone", Duration::from_secs(1), vec![wanted]);
    store.store.lease(request, clock.now()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(store.store.reclaim(10, clock.now()).await.unwrap().returned(), 3);
}

#[tokio::test(start_paused = true)]
async fn after_a_crash_no_delivery_begins_before_the_end_of_the_one_before_is_written() {
    let script = Script::new();
    let (inbox, store) = kit::inbox(&script).await;
    let inbox = inbox.build().await.unwrap();
    let ids = schedule(&inbox, &[What::Pass; 3]).await;
    vanish(&store).await;
    store.trouble(Verb::Settle, Trouble::LateAnswer(Duration::from_secs(5)), 3);
    let host = inbox.start().unwrap();
    for settlement in 1..=3 {
        store.called(Verb::Settle, |calls| calls.begun == settlement).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let began = script.began();
        assert_eq!(began.len() as u64, settlement, "{began:?}");
    }
    host.shutdown(Duration::from_mins(1)).await;
    assert_eq!(in_order(&store, &ids), [DeliveryState::Completed; 3]);
}
