use std::collections::{BTreeMap, BTreeSet};

use inbox::Timestamp;
use inbox::message::{Carry, MessageId};
use inbox::schedule::Priority;
use inbox::settle::DoneOutcome;
use inbox::store::{AttemptRecord, Bell, HostRecord, KnownRoute, LeaseToken, StoredMessage};

use crate::lanes::{Head, LaneName};

/// All there is. A database has a table for each of these.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) messages: BTreeMap<MessageId, StoredMessage>,
    /// Which message has this tenant, contract and idempotency key.
    pub(crate) keys: BTreeMap<(String, String, String), MessageId>,
    pub(crate) deliveries: BTreeMap<Name, Row>,
    pub(crate) leases: BTreeMap<LeaseToken, Held>,
    pub(crate) attempts: BTreeMap<MessageId, Vec<AttemptRecord>>,
    /// By contract and handler key. One that was superseded is kept: an old program may register at
    /// any time.
    pub(crate) routes: BTreeMap<(String, String), KnownRoute>,
    /// The key that each handler had first.
    pub(crate) first_keys: BTreeMap<String, String>,
    /// Keys whose dead orphans let others pass.
    pub(crate) passing: BTreeSet<String>,
    /// Ordering keys in use, each with the delivery whose turn it is.
    pub(crate) lanes: BTreeMap<LaneName, Head>,
    /// The bounded context of all of them.
    pub(crate) context: String,
    /// By name.
    pub(crate) hosts: BTreeMap<String, HostRecord>,
    /// Keys that nobody serves: since when, and when that was seen last.
    pub(crate) orphans: BTreeMap<String, (Timestamp, Timestamp)>,
    last_seq: u64,
    last_position: u64,
    pub(crate) bell: Bell,
}

/// One message for one handler key, or for the one that it waits for.
pub(crate) type Name = (MessageId, Option<String>);

#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) priority: Priority,
    pub(crate) attempts: u32,
    /// Workers that vanished with it, in a row.
    pub(crate) crashes: u32,
    pub(crate) carry: Carry,
    /// Which one it is in its lane: given once, and kept wherever it goes. What is delayed has none before it is due.
    pub(crate) position: Option<u64>,
    pub(crate) place: Place,
}

impl Row {
    /// What has not been tried yet.
    pub(crate) fn new(priority: Priority, position: Option<u64>, place: Place) -> Self {
        Self { priority, attempts: 0, crashes: 0, carry: Carry::default(), position, place }
    }

    /// Whether it runs apart from others: two workers in a row vanished with it.
    pub(crate) const fn is_quarantined(&self) -> bool {
        self.crashes >= 2
    }
}

/// A delivery is in exactly one.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// The lower number has been ready for longer.
    Ready {
        seq: u64,
    },
    Lease(LeaseToken),
    Waiting {
        due_at: Option<Timestamp>,
        reason: &'static str,
        error: Option<String>,
    },
    Unrouted {
        due_at: Option<Timestamp>,
    },
    Dead {
        reason: &'static str,
        error: String,
        at: Timestamp,
        /// Whether what is behind it in its lane waits.
        blocks: bool,
    },
    Done {
        outcome: DoneOutcome,
        at: Timestamp,
    },
}

impl Place {
    /// The place of what someone stopped.
    pub(crate) fn cancelled(at: Timestamp) -> Self {
        Self::Done { outcome: DoneOutcome::Cancelled, at }
    }
}

/// The deliveries that one worker holds under one token. An expired lease stays until it is reclaimed.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) host: String,
    pub(crate) leased_at: Timestamp,
    pub(crate) expires_at: Timestamp,
    /// Whether a part of it was reclaimed: it is not renewed any more.
    pub(crate) reclaimed: bool,
    pub(crate) max_crashes: u32,
    /// Whether it is of one quarantined delivery, which is to blame if the worker vanishes.
    pub(crate) alone: bool,
    /// Whether those behind one that is dead wait.
    pub(crate) blocks: bool,
    /// Deliveries that are not settled, each with its own key; a lease without any is removed.
    pub(crate) open: BTreeMap<MessageId, String>,
    /// Deliveries that the worker is to stop.
    pub(crate) cancelled: BTreeSet<MessageId>,
}

impl Table {
    /// The place of what is ready from now on. Workers are told; until the verb is over they wait for
    /// the lock.
    pub(crate) fn ready(&mut self) -> Place {
        self.bell.ring();
        self.last_seq += 1;
        Place::Ready { seq: self.last_seq }
    }

    /// A position behind all that were given before.
    pub(crate) fn next_position(&mut self) -> u64 {
        self.last_position += 1;
        self.last_position
    }

    /// Makes a delivery ready. One that has a position keeps it.
    pub(crate) fn make_ready(&mut self, name: &Name, now: Timestamp) {
        let (place, next) = (self.ready(), self.next_position());
        if let Some(row) = self.deliveries.get_mut(name) {
            row.position.get_or_insert(next);
            row.place = place;
        }
        self.hand_on(name, now);
    }

    /// Makes a delivery of what was accepted for a handler: ready, or delayed.
    pub(crate) fn deliver_to(&mut self, name: Name, mut row: Row, due_at: Option<Timestamp>) {
        row.place = match due_at {
            Some(_) => {
                row.position = None;
                Place::Waiting { due_at, reason: "delay", error: None }
            }
            None => self.ready(),
        };
        self.deliveries.insert(name, row);
    }

    pub(crate) fn contract_of(&self, name: &Name) -> String {
        self.messages[&name.0].message.contract.clone()
    }

    pub(crate) fn move_to(&mut self, name: &Name, place: Place) {
        if let Some(row) = self.deliveries.get_mut(name) {
            row.place = place;
        }
    }
}
