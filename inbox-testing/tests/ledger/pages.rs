use std::time::Duration;

use inbox_core::Now;
use inbox_core::message::MessageId;
use inbox_core::schedule::Start;
use inbox_core::store::{
    Cancelled, Cursor, DeliveryCount, DeliveryFilter, DeliveryRecord, HostRecord, Inspect,
    KnownRoute, Lane, LaneFilter, LaneRecord, MessageRecord, Page, RouteRecord, StoreError,
    StoreErrorKind, StoreFuture,
};
use inbox_testing::ledger;

use crate::story::{id, pending};

/// Lists its deliveries two at a time, or fails at one of them.
struct Pages {
    deliveries: Vec<DeliveryRecord>,
    fails_after: Option<MessageId>,
}

impl Inspect for Pages {
    fn list(&self, filter: DeliveryFilter) -> StoreFuture<'_, Page> {
        let after = filter.after.map(|cursor| cursor.message_id);
        if after.is_some() && after == self.fails_after {
            let error = StoreError::new(StoreErrorKind::Busy, "busy");
            return Box::pin(std::future::ready(Err(error)));
        }
        let rest = self.deliveries.iter().filter(|record| Some(record.message_id) > after);
        let deliveries: Vec<_> = rest.take(2).cloned().collect();
        let next = deliveries.get(1).map(|last| Cursor {
            message_id: last.message_id,
            handler_key: last.handler_key.clone(),
        });
        Box::pin(std::future::ready(Ok(Page { deliveries, next })))
    }

    fn show(&self, _: MessageId) -> StoreFuture<'_, Option<MessageRecord>> {
        unreachable!("the ledger asks for lists only")
    }

    fn counts(&self) -> StoreFuture<'_, Vec<DeliveryCount>> {
        unreachable!("the ledger asks for lists only")
    }

    fn retry(&self, _: MessageId, _: &str, _: Now) -> StoreFuture<'_, bool> {
        unreachable!("the ledger changes nothing")
    }

    fn cancel(&self, _: MessageId, _: Option<&str>, _: Now) -> StoreFuture<'_, Cancelled> {
        unreachable!("the ledger changes nothing")
    }

    fn reschedule(&self, _: MessageId, _: Option<&str>, _: Start, _: Now) -> StoreFuture<'_, u64> {
        unreachable!("the ledger changes nothing")
    }

    fn routes(&self, _: Duration, _: Now) -> StoreFuture<'_, Vec<RouteRecord>> {
        unreachable!("the ledger asks for lists only")
    }

    fn retire(&self, _: &str, _: &str, _: Now) -> StoreFuture<'_, Vec<KnownRoute>> {
        unreachable!("the ledger changes nothing")
    }

    fn restore(&self, _: &str, _: &str, _: Now) -> StoreFuture<'_, Vec<KnownRoute>> {
        unreachable!("the ledger changes nothing")
    }

    fn hosts(&self) -> StoreFuture<'_, Vec<HostRecord>> {
        unreachable!("the ledger asks for lists only")
    }

    fn lanes(&self, _: LaneFilter) -> StoreFuture<'_, Vec<LaneRecord>> {
        unreachable!("the ledger asks for lists only")
    }

    fn unblock(&self, _: &Lane, _: Now) -> StoreFuture<'_, bool> {
        unreachable!("the ledger changes nothing")
    }
}

#[tokio::test]
async fn every_page_of_a_store_is_read() {
    for count in 0..=5 {
        let deliveries: Vec<_> = (1..=count).map(pending).collect();
        let store = Pages { deliveries: deliveries.clone(), fails_after: None };
        assert_eq!(ledger::stored(&store).await.unwrap(), deliveries);
    }
}

#[tokio::test]
async fn a_store_that_fails_midway_has_not_been_read() {
    let store = Pages { deliveries: (1..=5).map(pending).collect(), fails_after: Some(id(2)) };
    let error = ledger::stored(&store).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Busy);
}
