//! Deliveries for the tests of the pump's parts.

use inbox_core::Timestamp;
use inbox_core::message::{Delivery, Headers, Message, MessageId, Payload};
use inbox_core::request::{Attempt, HeldLease, LaneRun};
use inbox_core::store::{Lease, LeaseToken};
use tokio::time::Instant;

/// A lease of nothing.
pub(super) fn lease(token: LeaseToken, key: &str, quarantined: bool) -> Lease {
    Lease {
        token,
        handler_key: key.to_owned(),
        quarantined,
        leased_at: Timestamp::from_micros(0),
        expires_at: Timestamp::from_micros(1),
        permits: None,
        deliveries: Vec::new(),
        unreadable: Vec::new(),
    }
}

/// The first delivery of a message for this handler, with an ordering key if one is given.
pub(super) fn delivery(number: u128, key: &str, ordering_key: Option<&str>) -> Delivery {
    let message = Message {
        id: MessageId::from_u128(number),
        contract: "work".to_owned(),
        version: 1,
        payload: Payload::from_bytes(b"{}".to_vec()),
        headers: Headers::default(),
        idempotency_key: None,
        ordering_key: ordering_key.map(str::to_owned),
        concurrency_key: None,
        correlation_id: None,
        causation_id: None,
        tenant: String::new(),
        deliver_by: None,
    };
    Delivery::first(message, Timestamp::from_micros(0), key)
}

/// An attempt at the delivery with this number, under a lease of its own.
pub(super) fn attempt(number: u128) -> Attempt {
    let lease = lease(LeaseToken::new(), "work", false);
    Attempt::leased(delivery(number, "work", None), HeldLease::new(&lease, Instant::now()))
}

/// The deliveries with these numbers, as one run.
pub(super) fn run(numbers: impl IntoIterator<Item = u128>) -> (LaneRun, Vec<Attempt>) {
    of_run(LaneRun::new(), numbers)
}

/// The same of a run that is given.
pub(super) fn of_run(
    run: LaneRun,
    numbers: impl IntoIterator<Item = u128>,
) -> (LaneRun, Vec<Attempt>) {
    let attempts = numbers.into_iter().map(|number| attempt(number).in_run(run.clone()));
    let attempts = attempts.collect();
    (run, attempts)
}

/// Which deliveries these are.
pub(super) fn numbers<'a>(attempts: impl IntoIterator<Item = &'a Attempt>) -> Vec<u128> {
    attempts.into_iter().map(|attempt| attempt.message_id().as_u128()).collect()
}
