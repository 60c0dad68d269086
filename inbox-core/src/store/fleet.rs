use std::time::Duration;

use crate::Timestamp;

/// A handler key that a host serves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Served {
    /// The key, be it a handler's own or one that it had before.
    pub handler_key: String,
    /// The versions of the contract that the handler reads.
    pub versions: Vec<u32>,
}

/// A host that made itself known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRecord {
    /// Its name, new at every start.
    pub name: String,
    /// When it made itself known first.
    pub started_at: Timestamp,
    /// When it did so last.
    pub seen_at: Timestamp,
    /// What it serves, sorted.
    pub serves: Vec<Served>,
}

impl HostRecord {
    /// How long a host counts as alive that nobody has heard of. Hosts make themselves known several
    /// times as often.
    pub const ALIVE_FOR: Duration = Duration::from_mins(1);
}

/// A route with what becomes of it in the fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteRecord {
    /// The contract's name.
    pub contract: String,
    /// The handler's key.
    pub handler_key: String,
    /// The key that takes what is new in its place.
    pub superseded_by: Option<String>,
    /// Whether an operator closed it: then only an operator opens it.
    pub retired: bool,
    /// Deliveries under this key that have not come to their end: pending, processing or waiting.
    /// One that is given nothing new and has none is drained.
    pub open: u64,
    /// The live hosts that serve the key, by name, sorted.
    pub hosts: Vec<String>,
}

impl RouteRecord {
    /// Whether what is accepted now is delivered to it.
    #[must_use]
    pub fn takes_new(&self) -> bool {
        self.superseded_by.is_none() && !self.retired
    }
}

/// When a ready delivery whose key nobody serves is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrphanTerms {
    /// For how long there have been live hosts, and none with the key.
    pub grace: Duration,
    /// How long a host counts as alive that nobody has heard of.
    pub alive_for: Duration,
}
