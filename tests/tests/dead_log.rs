//! What is logged of a delivery that dies with its worker, or because no host serves it.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::num::NonZeroU32;
use std::time::Duration;

use inbox::hosting::StoreVerb;
use inbox::store::{
    LeaseRequest, LeaseStore as _, Maintain as _, Now, OnDead, Route, Terms, Wanted,
};
use inbox::testing::TestInbox;
use inbox::{Inbox, MessageId, ScheduleOptions, handler, inbox_contract};
use inbox_tests::faulty::{FaultyStore, RuntimeClock};
use inbox_tests::log::captured;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "bomb", version = 1)]
#[derive(Serialize, Deserialize)]
struct Bomb;

#[handler(key = "bomb", max_crashes = 1)]
async fn bomb(_command: Bomb) {}

/// Another host takes what is ready, and is never heard of again.
async fn vanish(inbox: &TestInbox) {
    let wanted = Wanted {
        handler_key: "bomb".to_owned(),
        versions: vec![1],
        limit: NonZeroU32::MIN,
        max_crashes: NonZeroU32::MIN,
        terms: Terms::default(),
    };
    let (host, duration) = ("gone".to_owned(), Duration::from_secs(1));
    let request = LeaseRequest {
        host,
        duration,
        wanted: vec![wanted],
        tenants: None,
        quarantine: Some(NonZeroU32::MIN),
        first: None,
    };
    let now = inbox.inbox().scheduler().clock().now();
    assert_eq!(inbox.inbox().store().lease(request, now).await.unwrap().len(), 1);
    inbox.advance(Duration::from_secs(1));
}

#[test]
fn a_delivery_that_dies_with_its_worker_is_logged_as_an_error() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (inbox, id) = runtime.block_on(async {
        let inbox = TestInbox::builder().build().await.unwrap();
        let id = inbox.schedule(Bomb).await.message_id();
        // The first two workers that vanish accuse nobody; the third one does.
        for _ in 0..2 {
            vanish(&inbox).await;
            let now = inbox.inbox().scheduler().clock().now();
            inbox::store::Maintain::reclaim(&**inbox.inbox().store(), 10, now).await.unwrap();
        }
        vanish(&inbox).await;
        (inbox, id)
    });
    let log = captured(|| assert_eq!(runtime.block_on(inbox.drain()).dead, 1));
    let fields = [
        "handler_key=\"bomb\"",
        "attempts=0",
        "reason=lease-expired",
        "crashes=3",
        "host=\"gone\"",
    ];
    names(&log, &id.to_string(), &fields);
}

/// One error is logged, about this message.
fn names(log: &str, message: &str, fields: &[&str]) {
    let errors: Vec<_> = log.lines().filter(|line| line.contains("ERROR")).collect();
    assert_eq!(errors.len(), 1, "{log}");
    let is_said = |said: &str| errors[0].contains(said);
    assert!(
        is_said("delivery dead-lettered") && is_said(&format!("message_id={message}")),
        "{log}"
    );
    assert!(fields.iter().all(|field| is_said(field)), "{log}");
}

/// So many deliveries under a key that no host serves, and a host that sees it.
fn orphaned(orphans: usize) -> (String, Vec<MessageId>) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build().unwrap();
    let mut ids = Vec::new();
    let log = captured(|| {
        runtime.block_on(async {
            let store = FaultyStore::new().await.unwrap();
            let inbox = Inbox::builder(store.clone()).clock(RuntimeClock::start());
            let inbox = inbox.renew_in_place().orphan_grace(Duration::ZERO).build().await.unwrap();
            let elsewhere = Route {
                contract: "bomb".to_owned(),
                handler_key: "elsewhere".to_owned(),
                supersedes: Vec::new(),
                context: String::new(),
                on_dead: OnDead::Block,
            };
            store.register_routes(vec![elsewhere], Now::OfStore).await.unwrap();
            for _ in 0..orphans {
                let receipt = inbox.scheduler().schedule(Bomb, ScheduleOptions::new()).await;
                ids.push(receipt.unwrap().message_id());
            }
            let (host, control) = (inbox.start().unwrap(), inbox.control());
            let dead = || control.meter().of(StoreVerb::DeadLetterOrphans).deliveries;
            while dead() < orphans as u64 {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            host.shutdown(Duration::ZERO).await;
        });
    });
    (log, ids)
}

#[test]
fn an_orphan_is_logged_as_an_error_that_names_it() {
    let (log, ids) = orphaned(1);
    let fields = ["handler_key=\"elsewhere\"", "attempts=0", "reason=orphaned"];
    names(&log, &ids[0].to_string(), &fields);
}

#[test]
fn of_very_many_orphans_a_hundred_are_named_and_the_rest_is_counted() {
    let (log, ids) = orphaned(123);
    let errors: Vec<_> = log.lines().filter(|line| line.contains("ERROR")).collect();
    let is_named = |id: &&MessageId| errors.iter().any(|line| line.contains(&id.to_string()));
    assert_eq!(ids.iter().filter(is_named).count(), 100, "{log}");
    assert_eq!(errors.len(), 101, "{log}");
    let rest = errors[100];
    assert!(rest.contains("more deliveries dead-lettered") && rest.contains("more=23"), "{rest}");
}
