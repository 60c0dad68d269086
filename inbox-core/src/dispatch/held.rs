use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::Timestamp;
use crate::message::MessageId;
use crate::store::{Lease, LeaseToken};

/// The lease under which a delivery runs. Clones are one lease.
#[derive(Debug, Clone)]
pub struct HeldLease {
    token: LeaseToken,
    until: Arc<Until>,
}

/// In microseconds.
#[derive(Debug)]
struct Until {
    expires_at: AtomicI64,
    /// If the renewal succeeds that is under way.
    renewing: AtomicI64,
}

impl HeldLease {
    /// The lease's token.
    #[must_use]
    pub fn token(&self) -> LeaseToken {
        self.token
    }

    /// Until when it holds, as far as is known: renewals move it.
    #[must_use]
    pub fn expires_at(&self) -> Timestamp {
        Timestamp::from_micros(self.until.expires_at.load(Ordering::Relaxed))
    }

    /// Until when it may hold already: a renewal is under way, and its answer is not there yet.
    #[must_use]
    pub fn renewing_until(&self) -> Option<Timestamp> {
        let renewing = self.until.renewing.load(Ordering::Relaxed);
        Some(Timestamp::from_micros(renewing)).filter(|until| *until > self.expires_at())
    }

    /// Notes that it is being renewed.
    pub fn renewing(&self, until: Timestamp) {
        self.until.renewing.store(until.as_micros(), Ordering::Relaxed);
    }

    /// Notes that it was renewed.
    pub fn renewed(&self, until: Timestamp) {
        self.until.expires_at.store(until.as_micros(), Ordering::Relaxed);
    }
}

impl From<&Lease> for HeldLease {
    fn from(lease: &Lease) -> Self {
        let expires_at = lease.expires_at.as_micros();
        let until = Until { expires_at: expires_at.into(), renewing: expires_at.into() };
        Self { token: lease.token, until: Arc::new(until) }
    }
}

/// The leases of a request's deliveries, left on it for layers to see:
/// `request.extension::<HeldLeases>()`. A run that stores nothing has none.
#[derive(Debug, Clone)]
pub struct HeldLeases(Arc<[(MessageId, HeldLease)]>);

impl HeldLeases {
    /// The lease of the delivery of this message.
    #[must_use]
    pub fn of(&self, message_id: MessageId) -> Option<&HeldLease> {
        self.0.iter().find(|(id, _)| *id == message_id).map(|(_, lease)| lease)
    }
}

impl FromIterator<(MessageId, HeldLease)> for HeldLeases {
    fn from_iter<I: IntoIterator<Item = (MessageId, HeldLease)>>(leases: I) -> Self {
        Self(leases.into_iter().collect())
    }
}
