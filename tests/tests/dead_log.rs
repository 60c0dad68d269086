//! What is logged of a delivery that dies with its worker.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::num::NonZeroU32;
use std::time::Duration;

use inbox::store::{LeaseRequest, LeaseStore as _, Terms, Wanted};
use inbox::testing::TestInbox;
use inbox::{handler, inbox_contract};
use inbox_tests::log::captured;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "bomb", version = 1)]
#[derive(Serialize, Deserialize)]
struct Bomb;

#[handler(key = "bomb", max_attempts = 1)]
async fn bomb(_command: Bomb) {}

/// Another host takes what is ready, and is never heard of again.
async fn vanish(inbox: &TestInbox) {
    let wanted = Wanted {
        handler_key: "bomb".to_owned(),
        versions: vec![1],
        limit: NonZeroU32::MIN,
        max_attempts: NonZeroU32::MIN,
        terms: Terms::default(),
    };
    let (host, duration) = ("gone".to_owned(), Duration::from_secs(1));
    let request = LeaseRequest { host, duration, wanted: vec![wanted], tenants: None };
    let now = inbox.inbox().scheduler().clock().now();
    assert_eq!(inbox.inbox().store().lease(request, now).await.unwrap().len(), 1);
    inbox.advance(Duration::from_secs(1));
}

#[test]
fn a_delivery_that_dies_with_its_worker_is_logged_as_an_error() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let inbox = runtime.block_on(async {
        let inbox = TestInbox::builder().build().await.unwrap();
        inbox.schedule(Bomb).await;
        // The first time it is not accused; then it is.
        vanish(&inbox).await;
        let now = inbox.inbox().scheduler().clock().now();
        inbox::store::Maintain::reclaim(&**inbox.inbox().store(), 10, now).await.unwrap();
        vanish(&inbox).await;
        inbox
    });
    let log = captured(|| assert_eq!(runtime.block_on(inbox.drain()).dead, 1));
    let line = log.lines().find(|line| line.contains("ERROR")).unwrap_or_default();
    assert!(line.contains("dead=1") && line.contains("lease-expired"), "{log}");
}
