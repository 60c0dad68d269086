use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Duration;

use inbox::Timestamp;
use inbox::message::MessageId;
use inbox::schedule::Start;
use inbox::store::Now;
use inbox::store::{
    Cancelled, DeliveryCount, DeliveryFilter, DeliveryRecord, DeliveryState, HostRecord, Inspect,
    KnownRoute, Lane, LaneFilter, LaneRecord, MessageRecord, Page, RouteRecord, StoreFuture,
};

use crate::MemoryStore;
use crate::table::{Name, Place, Row, Table};

impl Inspect for MemoryStore {
    fn show(&self, id: MessageId) -> StoreFuture<'_, Option<MessageRecord>> {
        self.verb(move |table| {
            let stored = table.messages.get(&id)?.clone();
            let deliveries = table.records(Bound::Included((id, None)));
            let deliveries = deliveries.take_while(|record| record.message_id == id).collect();
            let attempts = table.attempts.get(&id).cloned().unwrap_or_default();
            Some(MessageRecord { stored, deliveries, attempts })
        })
    }

    fn list(&self, filter: DeliveryFilter) -> StoreFuture<'_, Page> {
        self.verb(move |table| {
            let size = filter.page_size();
            let after = filter.after.clone().map(|after| (after.message_id, after.handler_key));
            let after = after.map_or(Bound::Unbounded, Bound::Excluded);
            let matching = table.records(after).filter(|record| matches(&filter, record));
            Page::of(matching.take(size as usize + 1).collect(), size)
        })
    }

    fn counts(&self) -> StoreFuture<'_, Vec<DeliveryCount>> {
        self.verb(move |table| {
            let mut counts = BTreeMap::new();
            for record in table.records(Bound::Unbounded) {
                *counts.entry((record.handler_key, record.state)).or_default() += 1;
            }
            let count = |((handler_key, state), count)| DeliveryCount { handler_key, state, count };
            counts.into_iter().map(count).collect()
        })
    }

    fn retry(&self, id: MessageId, handler_key: &str, now: Now) -> StoreFuture<'_, bool> {
        let name = (id, Some(handler_key.to_owned()));
        self.verb(move |table| {
            let Some(row) = table.deliveries.get_mut(&name) else { return false };
            let Place::Dead { blocks, .. } = row.place else { return false };
            // Where it did not block its lane, others have passed it.
            let position = row.position.filter(|_| blocks);
            *row = Row::new(row.priority, position, row.place.clone());
            table.make_ready(&name, now.or_else(Timestamp::now));
            true
        })
    }

    fn cancel(
        &self,
        id: MessageId,
        handler_key: Option<&str>,
        now: Now,
    ) -> StoreFuture<'_, Cancelled> {
        let handler_key = handler_key.map(str::to_owned);
        self.verb(move |table| {
            table.cancel(id, handler_key.as_deref(), now.or_else(Timestamp::now))
        })
    }

    fn reschedule(
        &self,
        id: MessageId,
        handler_key: Option<&str>,
        start: Start,
        now: Now,
    ) -> StoreFuture<'_, u64> {
        let handler_key = handler_key.map(str::to_owned);
        self.verb(move |table| {
            table.reschedule(id, handler_key.as_deref(), start, now.or_else(Timestamp::now))
        })
    }

    fn routes(&self, alive_for: Duration, now: Now) -> StoreFuture<'_, Vec<RouteRecord>> {
        self.verb(move |table| table.route_records(alive_for, now.or_else(Timestamp::now)))
    }

    fn retire(&self, contract: &str, key: &str, _: Now) -> StoreFuture<'_, Vec<KnownRoute>> {
        let (contract, key) = (contract.to_owned(), key.to_owned());
        let retired = self.verb(move |table| table.retire(&contract, &key));
        Box::pin(async move { retired.await? })
    }

    fn restore(&self, contract: &str, key: &str, now: Now) -> StoreFuture<'_, Vec<KnownRoute>> {
        let (contract, key) = (contract.to_owned(), key.to_owned());
        let restored = self.verb(move |table| {
            let known = table.restore(&contract, &key)?;
            table.route(usize::MAX, now.or_else(Timestamp::now));
            Ok(known)
        });
        Box::pin(async move { restored.await? })
    }

    fn hosts(&self) -> StoreFuture<'_, Vec<HostRecord>> {
        self.verb(|table| table.hosts.values().cloned().collect())
    }

    fn lanes(&self, filter: LaneFilter) -> StoreFuture<'_, Vec<LaneRecord>> {
        self.verb(move |table| table.list_lanes(&filter))
    }

    fn unblock(&self, lane: &Lane, now: Now) -> StoreFuture<'_, bool> {
        let lane = lane.clone();
        self.verb(move |table| table.unblock(&lane, now.or_else(Timestamp::now)))
    }
}

/// What the filter does not say does not matter.
fn matches(filter: &DeliveryFilter, record: &DeliveryRecord) -> bool {
    filter.state.is_none_or(|state| record.state == state)
        && (filter.handler_key.is_none() || filter.handler_key == record.handler_key)
        && filter.contract.as_ref().is_none_or(|contract| record.contract == *contract)
}

impl Table {
    /// Every delivery from there on, sorted by message id and handler key.
    fn records(&self, from: Bound<Name>) -> impl Iterator<Item = DeliveryRecord> {
        let rows = self.deliveries.range((from, Bound::Unbounded));
        rows.map(|(name, row)| self.record(name, row))
    }

    pub(crate) fn record(&self, name: &Name, row: &Row) -> DeliveryRecord {
        let mut record = DeliveryRecord {
            message_id: name.0,
            handler_key: name.1.clone(),
            contract: self.contract_of(name),
            state: DeliveryState::Pending,
            attempts: row.attempts,
            due_at: None,
            lease_expires_at: None,
            settled_at: None,
            reason: None,
            error: None,
        };
        match &row.place {
            Place::Ready { .. } => {}
            Place::Lease(token) => {
                record.state = DeliveryState::Processing;
                record.lease_expires_at = self.leases.get(token).map(|held| held.expires_at);
            }
            Place::Waiting { due_at, reason, error } => {
                record.state = DeliveryState::Waiting;
                record.due_at = *due_at;
                record.reason = Some((*reason).to_owned());
                record.error.clone_from(error);
            }
            Place::Unrouted { due_at } => {
                record.state = DeliveryState::Waiting;
                record.due_at = *due_at;
                record.reason = Some("no-route".to_owned());
            }
            Place::Dead { reason, error, at, .. } => {
                record.state = DeliveryState::Dead;
                record.settled_at = Some(*at);
                record.reason = Some((*reason).to_owned());
                record.error = Some(error.clone());
            }
            Place::Done { outcome, at } => {
                record.state = outcome.state();
                record.settled_at = Some(*at);
            }
        }
        record
    }
}
