//! Histories and stores, written by hand. Times are seconds.

use inbox_core::Timestamp;
use inbox_core::message::MessageId;
use inbox_core::store::{DeliveryRecord, DeliveryState, LeaseToken};
use inbox_testing::ledger::{Entry, Expectations, History, Rule, SeenLease};

pub(crate) const HANDLER: &str = "charge-card";
pub(crate) const CONTRACT: &str = "process-payment";

pub(crate) fn id(n: u128) -> MessageId {
    MessageId::from_u128(n)
}

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

pub(crate) fn lease(token: u128, until: i64) -> SeenLease {
    let token = LeaseToken::from_u128(token);
    SeenLease { token, expires_at: at(until), renewing_until: None }
}

pub(crate) fn accepted(message: u128, when: i64) -> Entry {
    let (message_id, contract) = (id(message), CONTRACT.to_owned());
    Entry::Accepted { message_id, contract, ordering_key: None, at: at(when) }
}

pub(crate) fn accepted_in(lane: &str, message: u128, when: i64) -> Entry {
    let (message_id, contract) = (id(message), CONTRACT.to_owned());
    Entry::Accepted { message_id, contract, ordering_key: Some(lane.to_owned()), at: at(when) }
}

pub(crate) fn started(
    message: u128,
    attempt: u32,
    lease: impl Into<Option<SeenLease>>,
    when: i64,
) -> Entry {
    let (message_id, handler_key) = (id(message), HANDLER.to_owned());
    let lease = lease.into();
    Entry::Started { message_id, handler_key, attempt, lease, at: at(when), process: 7 }
}

pub(crate) fn finished(
    message: u128,
    attempt: u32,
    lease: impl Into<Option<SeenLease>>,
    when: i64,
    ok: bool,
) -> Entry {
    let (message_id, handler_key) = (id(message), HANDLER.to_owned());
    let lease = lease.into();
    Entry::Finished { message_id, handler_key, attempt, lease, ok, at: at(when) }
}

/// A run that succeeded, under a lease that held ten seconds longer.
pub(crate) fn success(message: u128, token: u128, from: i64, to: i64) -> [Entry; 2] {
    let lease = lease(token, to + 10);
    [started(message, 1, lease, from), finished(message, 1, lease, to, true)]
}

pub(crate) fn stored(message: u128, state: DeliveryState) -> DeliveryRecord {
    DeliveryRecord {
        message_id: id(message),
        handler_key: Some(HANDLER.to_owned()),
        contract: CONTRACT.to_owned(),
        state,
        attempts: 1,
        due_at: None,
        lease_expires_at: None,
        settled_at: None,
        reason: None,
        error: None,
    }
}

pub(crate) fn pending(message: u128) -> DeliveryRecord {
    stored(message, DeliveryState::Pending)
}

pub(crate) fn completed(message: u128, when: i64) -> DeliveryRecord {
    DeliveryRecord { settled_at: Some(at(when)), ..stored(message, DeliveryState::Completed) }
}

/// The rules that a history breaks.
pub(crate) fn broken(
    entries: impl IntoIterator<Item = Entry>,
    stored: &[DeliveryRecord],
    expectations: &Expectations,
) -> Vec<Rule> {
    let history: History = entries.into_iter().collect();
    match history.check(stored, expectations) {
        Ok(_) => Vec::new(),
        Err(violations) => violations.all().iter().map(|violation| violation.rule).collect(),
    }
}
