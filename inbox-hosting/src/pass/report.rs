use inbox_core::settle::{DoneOutcome, Settlement};

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
    /// Claimed, but lost before they could be settled: they are another worker's now.
    pub skipped: u64,
}

impl PassReport {
    pub(super) fn add(&mut self, settlement: &Settlement, written: bool) {
        let count = match settlement {
            _ if !written => &mut self.skipped,
            Settlement::Done(DoneOutcome::Completed) => &mut self.completed,
            Settlement::Done(DoneOutcome::Expired) => &mut self.expired,
            Settlement::Retry { .. } => &mut self.retried,
            Settlement::Dead { .. } => &mut self.dead,
        };
        *count += 1;
    }
}

/// The sum of two passes.
impl std::ops::AddAssign for PassReport {
    fn add_assign(&mut self, other: Self) {
        let Self { leased, completed, retried, dead, expired, skipped } = other;
        self.leased += leased;
        self.completed += completed;
        self.retried += retried;
        self.dead += dead;
        self.expired += expired;
        self.skipped += skipped;
    }
}
