use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use inbox_core::Timestamp;
use inbox_core::message::MessageId;
use inbox_core::store::{Cursor, DeliveryRecord, LeaseToken};

use crate::conformance::kit::Bench;

/// Names one delivery; without a handler it waits for one.
pub(super) type Name = (MessageId, Option<String>);

/// Whose the messages are; those of the first are nobody's.
pub(super) const TENANTS: [&str; 3] = ["", "acme", "bolt"];

/// What should be in the store, kept as simply as can be.
pub(super) struct World {
    pub(super) hosts: [Bench; 2],
    pub(super) chance: fastrand::Rng,
    /// Contracts and keys are named after it, so that walks do not meet.
    pub(super) seed: u64,
    /// The handlers of each contract that are given what is new.
    pub(super) routes: BTreeMap<String, BTreeSet<String>>,
    pub(super) superseded: BTreeSet<String>,
    /// The contract of every message that was accepted.
    pub(super) contracts: BTreeMap<MessageId, String>,
    pub(super) deliveries: BTreeSet<Name>,
    pub(super) keys: BTreeSet<String>,
    /// Those that were cancelled before they had come to their end.
    pub(super) stopped: BTreeSet<Name>,
    /// Every lease that was ever given, until when it holds, and what of it is open.
    pub(super) leases: BTreeMap<LeaseToken, Lease>,
    /// The messages that have an ordering key or a concurrency key.
    pub(super) keyed: BTreeMap<MessageId, Keys>,
    /// The key that each handler had first, by which lanes and limits go.
    pub(super) first_keys: BTreeMap<String, String>,
    /// In which order the messages were accepted.
    pub(super) accepted: BTreeMap<MessageId, u64>,
    /// The position of each delivery in its lane, if it has begun.
    pub(super) positions: BTreeMap<Name, u64>,
    pub(super) last_position: u64,
    /// What the store said after the last step.
    pub(super) seen: BTreeMap<Name, DeliveryRecord>,
    /// The last delivery of the walk before. Nothing up to there moves any more.
    pub(super) after: Option<Cursor>,
}

/// What a message shares with others of its tenant.
#[derive(Clone)]
pub(super) struct Keys {
    pub(super) tenant: String,
    pub(super) ordering: Option<String>,
    pub(super) concurrency: Option<String>,
}

pub(super) struct Lease {
    pub(super) expires_at: Timestamp,
    pub(super) permits: usize,
    /// Each with the key that it is stored under.
    pub(super) open: BTreeMap<MessageId, String>,
}

impl World {
    pub(super) fn new(hosts: [Bench; 2]) -> Self {
        Self {
            hosts,
            chance: fastrand::Rng::with_seed(0),
            seed: 0,
            routes: BTreeMap::new(),
            superseded: BTreeSet::new(),
            contracts: BTreeMap::new(),
            deliveries: BTreeSet::new(),
            keys: BTreeSet::new(),
            stopped: BTreeSet::new(),
            leases: BTreeMap::new(),
            keyed: BTreeMap::new(),
            first_keys: BTreeMap::new(),
            accepted: BTreeMap::new(),
            positions: BTreeMap::new(),
            last_position: 0,
            seen: BTreeMap::new(),
            after: None,
        }
    }

    /// Forgets the walk before but for the clock and where its deliveries end.
    pub(super) fn begin(&mut self, seed: u64) {
        let last = std::mem::take(&mut self.seen).into_keys().next_back();
        let last = last.map(|(message_id, handler_key)| Cursor { message_id, handler_key });
        let mut new = Self::new(self.hosts.clone());
        (new.seed, new.chance) = (seed, fastrand::Rng::with_seed(seed));
        new.after = last.or(self.after.take());
        *self = new;
    }

    pub(super) fn now(&self) -> Timestamp {
        self.hosts[0].now
    }

    pub(super) fn pass(&mut self, time: Duration) {
        for host in &mut self.hosts {
            host.pass(time);
        }
    }

    /// One of three contracts: one has a route soon, one late, one perhaps never.
    pub(super) fn contract(&mut self) -> String {
        format!("walk-{}.contract-{}", self.seed, self.chance.u8(0..3))
    }

    pub(super) fn handler_key(&mut self, contract: &str) -> String {
        format!("{contract}.handler-{}", self.chance.u8(0..3))
    }

    pub(super) fn host(&mut self) -> Bench {
        self.hosts[self.chance.usize(0..2)].clone()
    }

    /// The deliveries that a message accepted now has.
    pub(super) fn deliver(&mut self, id: MessageId, contract: &str) {
        let routes = self.routes.get(contract).cloned().unwrap_or_default();
        match routes.is_empty() {
            true => _ = self.deliveries.insert((id, None)),
            false => self.deliveries.extend(routes.into_iter().map(|key| (id, Some(key)))),
        }
    }
}
