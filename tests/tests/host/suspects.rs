//! Deliveries whose earlier worker vanished.

use std::time::Duration;

use inbox::store::{
    DeliveryState, Inspect as _, LeaseRequest, LeaseStore as _, Now, StoreErrorKind, Wanted,
};
use inbox::{Context, ScheduleOptions, State, handler, inbox_contract};
use inbox_tests::faulty::{Trouble, Verb};
use serde::{Deserialize, Serialize};

use crate::kit::{Gate, Task, What, builder, faulty, health_is, schedule};

#[tokio::test(start_paused = true)]
async fn a_suspect_is_not_dropped_when_an_older_one_ends() {
    let gate = Gate::default();
    let (inbox, store) = faulty(&gate).await;
    store.trouble(Verb::Renew, Trouble::Fails(StoreErrorKind::Busy), u32::MAX);
    schedule(inbox.scheduler(), 0..1, What::Wait).await;
    let host = inbox.start().unwrap();
    // Lost once, it is a suspect; lost twice, there is another suspect while the first runs.
    while gate.seen().began.get(&0) != Some(&2) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    health_is(&inbox, |health| health.load.buffered == 1).await;
    store.heal();
    gate.permit(2);
    gate.until(|seen| seen.ended.get(&0) == Some(&2)).await;
    gate.permit(10);
    tokio::time::sleep(Duration::from_mins(30)).await;
    let counts = store.counts().await.unwrap();
    assert!(counts.iter().all(|count| count.state == DeliveryState::Completed), "{counts:?}");
    host.shutdown(Duration::ZERO).await;
}

#[inbox_contract(name = "host.single", version = 1)]
#[derive(Serialize, Deserialize)]
struct Single {
    number: u64,
    what: What,
}

#[handler(key = "single", concurrency = 1)]
async fn single(command: Single, State(gate): State<Gate>, context: Context) -> Result<(), String> {
    gate.run(&Task { number: command.number, what: command.what }, &context).await
}

#[tokio::test]
async fn a_suspect_keeps_to_its_handlers_limit() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let inbox = builder(store.clone(), &gate).build().await.unwrap();
    let host = inbox.start().unwrap();
    let one =
        |number, what| inbox.scheduler().schedule(Single { number, what }, ScheduleOptions::new());
    for number in 0..20 {
        one(number, What::Pass).await.unwrap();
    }
    gate.ended(20).await;
    one(100, What::Wait).await.unwrap();
    gate.began(21).await;
    inbox.control().pause();
    tokio::time::sleep(Duration::from_millis(300)).await;
    one(200, What::Wait).await.unwrap();
    let request = LeaseRequest {
        host: "other".to_owned(),
        duration: Duration::from_millis(100),
        wanted: vec![Wanted {
            handler_key: "single".to_owned(),
            versions: vec![1],
            limit: 1.try_into().unwrap(),
            max_attempts: 5.try_into().unwrap(),
        }],
        tenants: None,
    };
    assert_eq!(store.lease(request, Now::OfStore).await.unwrap().len(), 1);
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    inbox.control().resume();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let seen = gate.seen();
    assert_eq!(seen.most, 1, "{seen:?}");
    host.shutdown(Duration::ZERO).await;
}
