use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tokio::time::Instant;
use tracing::Span;

use super::LaneRun;
use crate::message::{Delivery, MessageId};
use crate::settle::Settlement;
use crate::store::{Lease, LeaseToken, Settle};
use crate::{Clock, Timestamp};

/// One attempt at one delivery: what moves from the claim through the layers to its settlement.
#[derive(Debug)]
pub struct Attempt {
    delivery: Delivery,
    lease: Option<HeldLease>,
    run: Option<LaneRun>,
    span: Span,
}

impl Attempt {
    /// An attempt under a lease.
    #[must_use]
    pub fn leased(delivery: Delivery, lease: HeldLease) -> Self {
        Self { span: span(&delivery), delivery, lease: Some(lease), run: None }
    }

    /// A run of which nothing is stored, and which nobody settles.
    #[must_use]
    pub fn unstored(delivery: Delivery) -> Self {
        Self { span: span(&delivery), delivery, lease: None, run: None }
    }

    /// The same, as one of this run.
    #[must_use]
    pub fn in_run(self, run: LaneRun) -> Self {
        Self { run: Some(run), ..self }
    }

    /// The run that it is one of; a delivery that is alone in its lease's part of its lane has none.
    #[must_use]
    pub const fn run(&self) -> Option<&LaneRun> {
        self.run.as_ref()
    }

    /// The delivery.
    #[must_use]
    pub const fn delivery(&self) -> &Delivery {
        &self.delivery
    }

    /// The delivery, before a handler sees it.
    pub const fn delivery_mut(&mut self) -> &mut Delivery {
        &mut self.delivery
    }

    /// The lease under which it is made; a run that stores nothing has none.
    #[must_use]
    pub const fn lease(&self) -> Option<&HeldLease> {
        self.lease.as_ref()
    }

    /// The token of its lease.
    #[must_use]
    pub fn token(&self) -> Option<LeaseToken> {
        self.lease.as_ref().map(HeldLease::token)
    }

    /// Whether it runs apart from others, because two workers in a row vanished with the delivery.
    #[must_use]
    pub fn is_quarantined(&self) -> bool {
        self.lease.as_ref().is_some_and(HeldLease::is_quarantined)
    }

    /// The key that the delivery is stored under.
    #[must_use]
    pub fn handler_key(&self) -> Arc<str> {
        let key = self.delivery.handler_key.as_str();
        match self.lease().map(HeldLease::handler_key).filter(|of_lease| &***of_lease == key) {
            Some(of_lease) => Arc::clone(of_lease),
            None => key.into(),
        }
    }

    /// What is logged about the delivery is logged in here.
    #[must_use]
    pub const fn span(&self) -> &Span {
        &self.span
    }

    /// What the store is told, if it knows of the delivery.
    #[must_use]
    pub fn settle(&self, settlement: Settlement) -> Option<Settle> {
        Some(Settle::new(self.lease.as_ref()?.token(), &self.delivery, settlement))
    }

    /// The message's id.
    #[must_use]
    pub const fn message_id(&self) -> MessageId {
        self.delivery.message.id
    }
}

fn span(Delivery { message, handler_key, attempt, .. }: &Delivery) -> Span {
    tracing::info_span!(
        target: "inbox::dispatch",
        "delivery",
        handler_key,
        contract = message.contract,
        message_id = %message.id,
        attempt,
        tenant = Some(&*message.tenant).filter(|tenant| !tenant.is_empty()),
        correlation_id = message.correlation_id,
    )
}

/// A lease that this process holds. Clones are one lease.
#[derive(Debug, Clone)]
pub struct HeldLease(Arc<Held>);

#[derive(Debug)]
struct Held {
    token: LeaseToken,
    handler_key: Arc<str>,
    quarantined: bool,
    leased_at: Timestamp,
    /// By this process's clock: the lease was given no earlier.
    asked: Instant,
    /// In microseconds.
    expires_at: AtomicI64,
    /// If the renewal succeeds that is under way, in microseconds.
    renewing: AtomicI64,
}

impl HeldLease {
    /// Holds `lease`, which was asked for at `asked`.
    #[must_use]
    pub fn new(lease: &Lease, asked: Instant) -> Self {
        let expires_at = lease.expires_at.as_micros();
        Self(Arc::new(Held {
            token: lease.token,
            handler_key: lease.handler_key.as_str().into(),
            quarantined: lease.quarantined,
            leased_at: lease.leased_at,
            asked,
            expires_at: expires_at.into(),
            renewing: expires_at.into(),
        }))
    }

    /// The lease's token.
    #[must_use]
    pub fn token(&self) -> LeaseToken {
        self.0.token
    }

    /// The key that it was claimed for. Later deliveries of a run may be stored under another key of the
    /// same handler.
    #[must_use]
    pub fn handler_key(&self) -> &Arc<str> {
        &self.0.handler_key
    }

    /// Whether its deliveries run apart from others, because two workers in a row vanished with them.
    #[must_use]
    pub fn is_quarantined(&self) -> bool {
        self.0.quarantined
    }

    /// The store's present, as far as can be told without asking it.
    #[must_use]
    pub fn now(&self, clock: &dyn Clock) -> Timestamp {
        clock.now().or_else(|| self.0.leased_at.saturating_add(self.0.asked.elapsed()))
    }

    /// Until when it holds, as far as is known: renewals move it.
    #[must_use]
    pub fn expires_at(&self) -> Timestamp {
        Timestamp::from_micros(self.0.expires_at.load(Ordering::Relaxed))
    }

    /// Until when it may hold already: a renewal is under way, and its answer is not there yet.
    #[must_use]
    pub fn renewing_until(&self) -> Option<Timestamp> {
        let renewing = self.0.renewing.load(Ordering::Relaxed);
        Some(Timestamp::from_micros(renewing)).filter(|until| *until > self.expires_at())
    }

    /// Notes that it is being renewed.
    pub fn renewing(&self, until: Timestamp) {
        self.0.renewing.store(until.as_micros(), Ordering::Relaxed);
    }

    /// Notes that it was renewed.
    pub fn renewed(&self, until: Timestamp) {
        self.0.expires_at.store(until.as_micros(), Ordering::Relaxed);
    }
}
