use std::sync::Arc;

use inbox::Timestamp;
use inbox::message::{Envelope, Message};
use inbox::store::Now;
use inbox::store::{Accepted, StoreFuture, StoredMessage, Writer};

use crate::MemoryStore;
use crate::table::{Place, Row, Table};

impl Writer for MemoryStore {
    fn accept(&self, envelopes: Arc<[Envelope]>, now: Now) -> StoreFuture<'_, Vec<Accepted>> {
        self.verb(move |table| {
            let now = now.or_else(Timestamp::now);
            envelopes.iter().map(|envelope| table.accept(envelope, now)).collect()
        })
    }

    fn wake(&self) {
        self.bell.ring();
    }
}

impl Table {
    fn accept(&mut self, envelope: &Envelope, now: Timestamp) -> Accepted {
        let message = &envelope.message;
        if let Some(first) = self.accepted_before(message) {
            return Accepted::Before(Box::new(first.clone()));
        }
        if let Some(key) = key_of(message) {
            self.keys.insert(key, message.id);
        }
        let stored = StoredMessage { message: message.clone(), accepted_at: now };
        self.messages.insert(message.id, stored);
        self.deliver(envelope, now);
        Accepted::New { accepted_at: now }
    }

    fn accepted_before(&self, message: &Message) -> Option<&StoredMessage> {
        let by_key = || self.keys.get(&key_of(message)?);
        self.messages.get(&message.id).or_else(|| self.messages.get(by_key()?))
    }

    /// A delivery for every route, or one that waits for the first.
    fn deliver(&mut self, envelope: &Envelope, now: Timestamp) {
        let Envelope { message, priority, .. } = envelope;
        let due_at = Some(envelope.start.due_at(now)).filter(|due_at| *due_at > now);
        // One for all its deliveries: each is in a lane of its own.
        let position = Some(self.next_position());
        let row = Row::new(*priority, position, Place::Unrouted { due_at });
        let keys = self.routes_of(&message.contract);
        if keys.is_empty() || self.is_behind(message) {
            self.deliveries.insert((message.id, None), row);
            return;
        }
        for key in keys {
            self.deliver_to((message.id, Some(key)), row.clone(), due_at);
        }
    }
}

impl Table {
    /// Whether something of its ordering key waits for a route, so that it has to wait behind that.
    fn is_behind(&self, message: &Message) -> bool {
        let lane = |message: &Message| {
            let key = message.ordering_key.clone()?;
            Some((message.contract.clone(), message.tenant.clone(), key))
        };
        let mut unrouted = self.deliveries.iter().filter_map(|(name, row)| match row.place {
            Place::Unrouted { .. } => self.messages.get(&name.0),
            _ => None,
        });
        message.ordering_key.is_some()
            && unrouted.any(|before| lane(&before.message) == lane(message))
    }
}

/// Not one text: `a` and `bc` would be the same as `ab` and `c`.
fn key_of(message: &Message) -> Option<(String, String, String)> {
    let key = message.idempotency_key.clone()?;
    Some((message.tenant.clone(), message.contract.clone(), key))
}
