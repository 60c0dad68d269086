use inbox_core::message::MessageId;
use inbox_core::settle::DeadReason;
use inbox_core::store::{DeliveryFilter, DeliveryRecord, DeliveryState};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, HOLD, dead, delayed, envelope, fail_after};

/// Deliveries in every place, for three contracts.
async fn stocked(database: &dyn TestDatabase) -> Bench {
    let bench = Bench::open(database).await;
    for (contract, key) in [("paid", "ship"), ("paid", "book"), ("mail", "send")] {
        bench.register(contract, key).await;
    }
    for _ in 0..5 {
        let batch = ["paid", "mail", "unrouted"].map(envelope);
        bench.accept(batch.into()).await;
    }
    bench.accept_one(delayed("paid", HOLD)).await;
    let held = bench.lease("book", 4).await;
    bench.settled(&held[0], DONE).await;
    bench.settled(&held[1], fail_after(HOLD)).await;
    bench.settled(&held[2], dead(DeadReason::Undecodable)).await;
    bench
}

fn names(records: &[DeliveryRecord]) -> Vec<(MessageId, Option<&str>)> {
    records.iter().map(|record| (record.message_id, record.handler_key.as_deref())).collect()
}

pub async fn a_list_is_ordered_by_message_and_handler(database: &dyn TestDatabase) {
    let bench = stocked(database).await;
    let all = bench.list(DeliveryFilter::default()).await;
    assert_eq!(all.len(), 5 * 4 + 2);
    assert!(names(&all).is_sorted(), "{:?}", names(&all));
}

pub async fn every_delivery_is_on_one_page(database: &dyn TestDatabase) {
    let bench = stocked(database).await;
    let all = bench.list(DeliveryFilter::default()).await;
    for limit in 1..=23 {
        let pages = DeliveryFilter { limit: Some(limit), ..DeliveryFilter::default() };
        assert_eq!(bench.list(pages).await, all, "in pages of {limit}");
    }
    let handler = DeliveryFilter {
        handler_key: Some("ship".to_owned()),
        limit: Some(2),
        ..DeliveryFilter::default()
    };
    assert_eq!(bench.list(handler).await.len(), 6, "pages of a filtered list");
}

pub async fn a_list_holds_what_the_filter_says(database: &dyn TestDatabase) {
    let bench = stocked(database).await;
    let all = bench.list(DeliveryFilter::default()).await;
    for state in DeliveryState::ALL {
        let expected: Vec<_> = all.iter().filter(|r| r.state == state).cloned().collect();
        assert_eq!(bench.list(DeliveryFilter::in_state(state)).await, expected, "{state}");
    }
    for key in ["book", "ship", "send", "none"] {
        let of_key = |r: &&DeliveryRecord| r.handler_key.as_deref() == Some(key);
        let expected: Vec<_> = all.iter().filter(of_key).cloned().collect();
        let filter = DeliveryFilter { handler_key: Some(key.to_owned()), ..Default::default() };
        assert_eq!(bench.list(filter).await, expected, "{key}");
    }
    for contract in ["paid", "mail", "unrouted", "none"] {
        let expected: Vec<_> = all.iter().filter(|r| r.contract == contract).cloned().collect();
        let filter = DeliveryFilter { contract: Some(contract.to_owned()), ..Default::default() };
        assert_eq!(bench.list(filter).await, expected, "{contract}");
    }
}

pub async fn a_filter_means_all_that_it_says(database: &dyn TestDatabase) {
    let bench = stocked(database).await;
    let filter = DeliveryFilter {
        state: Some(DeliveryState::Waiting),
        handler_key: Some("book".to_owned()),
        contract: Some("paid".to_owned()),
        ..Default::default()
    };
    assert_eq!(bench.list(filter.clone()).await.len(), 2, "one delayed, one to be retried");
    let other = DeliveryFilter { contract: Some("mail".to_owned()), ..filter };
    assert_eq!(bench.list(other).await, []);
}

pub async fn a_page_holds_a_hundred_and_never_more_than_a_thousand(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..1_001).map(|_| envelope("pay")).collect()).await;
    for (limit, held) in [(None, 100), (Some(u32::MAX), 1_000), (Some(0), 1)] {
        let page = bench.page(DeliveryFilter { limit, ..Default::default() }).await;
        assert_eq!(page.deliveries.len(), held, "with the limit {limit:?}");
        assert!(page.next.is_some(), "there are more");
    }
}
