//! What a test of the layer works with: a ledger on ticks, and requests as a host makes them.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use inbox_core::message::Delivery;
use inbox_core::message::{Headers, Message, Payload};
use inbox_core::request::{Attempt, HeldLease, Request};
use inbox_core::schedule::Scheduler;
use inbox_core::store::{Lease, LeaseToken};
use inbox_core::{Clock, Now};
use inbox_testing::ledger::{Entry, Ledger, SeenLease};
use tempfile::{TempDir, tempdir};

use crate::story::{self, CONTRACT, HANDLER, at, id};

/// A clock whose every look is a second later.
#[derive(Default)]
struct Ticks(AtomicI64);

impl Clock for Ticks {
    fn now(&self) -> Now {
        Now::At(at(self.0.fetch_add(1, Ordering::Relaxed) + 1))
    }
}

pub(crate) struct Bench {
    pub(crate) ledger: Ledger,
    _directory: TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let directory = tempdir().unwrap();
        let ledger = Ledger::open(directory.path().join("ledger")).unwrap();
        Self { ledger: ledger.with_clock(Arc::new(Ticks::default())), _directory: directory }
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        Ledger::read(self.ledger.path()).unwrap().entries().to_vec()
    }
}

pub(crate) fn delivery(message: u128) -> Delivery {
    let message = Message {
        id: id(message),
        contract: CONTRACT.to_owned(),
        version: 1,
        payload: Payload::from_bytes(b"{}".to_vec()),
        headers: Headers::new(),
        idempotency_key: None,
        ordering_key: None,
        concurrency_key: None,
        correlation_id: None,
        causation_id: None,
        tenant: String::new(),
        deliver_by: None,
    };
    Delivery::first(message, at(0), HANDLER)
}

/// A request for message 1 under lease 5, which holds until 30.
pub(crate) fn leased() -> (Request, HeldLease) {
    let lease = Lease {
        token: LeaseToken::from_u128(5),
        handler_key: HANDLER.to_owned(),
        quarantined: false,
        leased_at: at(0),
        expires_at: at(30),
        permits: None,
        deliveries: Vec::new(),
        unreadable: Vec::new(),
    };
    let held = HeldLease::new(&lease, tokio::time::Instant::now());
    let attempt = Attempt::leased(delivery(1), held.clone());
    (Request::new(attempt, Vec::new(), Scheduler::detached()), held)
}

pub(crate) fn start(message: u128, lease: impl Into<Option<SeenLease>>, when: i64) -> Entry {
    let mut entry = story::started(message, 1, lease, when);
    if let Entry::Started { process, .. } = &mut entry {
        *process = std::process::id();
    }
    entry
}

pub(crate) fn finish(
    message: u128,
    lease: impl Into<Option<SeenLease>>,
    when: i64,
    ok: bool,
) -> Entry {
    story::finished(message, 1, lease, when, ok)
}
