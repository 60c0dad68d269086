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
    /// Ordering keys in use: there is no place for a second head.
    pub(crate) lanes: BTreeMap<LaneName, Head>,
    /// The bounded context of all of them.
    pub(crate) context: String,
    /// By name.
    pub(crate) hosts: BTreeMap<String, HostRecord>,
    /// Keys that nobody serves: since when, and when that was seen last.
    pub(crate) orphans: BTreeMap<String, (Timestamp, Timestamp)>,
    last_seq: u64,
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
    pub(crate) place: Place,
}

impl Row {
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
    /// The lower number has waited for a route for longer.
    Unrouted {
        seq: u64,
        due_at: Option<Timestamp>,
    },
    Dead {
        reason: &'static str,
        error: String,
        at: Timestamp,
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
    pub(crate) handler_key: String,
    pub(crate) leased_at: Timestamp,
    pub(crate) expires_at: Timestamp,
    /// Whether a part of it was reclaimed: it is not renewed any more.
    pub(crate) reclaimed: bool,
    pub(crate) max_crashes: u32,
    /// Whether it is of one quarantined delivery, which is to blame if the worker vanishes.
    pub(crate) alone: bool,
    /// Whether those behind one that is dead wait.
    pub(crate) blocks: bool,
    /// Deliveries that are not settled; a lease without any is removed.
    pub(crate) open: BTreeSet<MessageId>,
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

    /// The place of what waits for a route, behind all that wait for one.
    pub(crate) fn unrouted(&mut self, due_at: Option<Timestamp>) -> Place {
        self.last_seq += 1;
        Place::Unrouted { seq: self.last_seq, due_at }
    }

    /// The place of what may start at `due_at`.
    pub(crate) fn ready_or_waiting(&mut self, due_at: Option<Timestamp>, now: Timestamp) -> Place {
        match due_at.filter(|due_at| *due_at > now) {
            Some(_) => Place::Waiting { due_at, reason: "delay", error: None },
            None => self.ready(),
        }
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
