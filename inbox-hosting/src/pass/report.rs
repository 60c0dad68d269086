use inbox_core::store::{DeliveryState, LeaseLost};

/// What one pass did, in deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PassReport {
    /// Claimed from the store.
    pub leased: u64,
    /// Handled with success.
    pub completed: u64,
    /// Failed, to be tried again.
    pub retried: u64,
    /// Given up, those included whose worker vanished during their last attempt.
    pub dead: u64,
    /// Too late to be handled.
    pub expired: u64,
    /// Cancelled while this worker or a vanished one held them.
    pub cancelled: u64,
    /// Claimed, but lost before they could be settled: they are another worker's now.
    pub skipped: u64,
}

impl PassReport {
    pub(super) fn add(&mut self, settled: Result<DeliveryState, LeaseLost>) {
        let count = match settled {
            Err(_) => &mut self.skipped,
            Ok(DeliveryState::Completed) => &mut self.completed,
            Ok(DeliveryState::Expired) => &mut self.expired,
            Ok(DeliveryState::Cancelled) => &mut self.cancelled,
            Ok(DeliveryState::Dead) => &mut self.dead,
            // All that is left is to be tried again.
            Ok(_) => &mut self.retried,
        };
        *count += 1;
    }
}

/// The sum of two passes.
impl std::ops::AddAssign for PassReport {
    fn add_assign(&mut self, other: Self) {
        let Self { leased, completed, retried, dead, expired, cancelled, skipped } = other;
        self.leased += leased;
        self.completed += completed;
        self.retried += retried;
        self.dead += dead;
        self.expired += expired;
        self.cancelled += cancelled;
        self.skipped += skipped;
    }
}
