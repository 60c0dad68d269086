use std::fmt;

/// How much happened. A test of crashes should look: one in which nothing was lost because nothing
/// ran proves little.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Messages that were accepted as new.
    pub accepted: usize,
    /// Leases under which a delivery was run.
    pub attempts: usize,
    /// Calls of a handler: an attempt may repeat one at once.
    pub runs: usize,
    /// Runs that never ended: their process was killed, or still has them.
    pub unfinished: usize,
    /// Runs that ended after their lease did.
    pub lost_leases: usize,
    /// Runs that began after their lease had expired: their process stood still in between.
    pub late_starts: usize,
    /// Deliveries in the store that are completed.
    pub completed: usize,
    /// Deliveries in the store that are dead.
    pub dead: usize,
    /// Deliveries in the store that something will still happen to.
    pub pending: usize,
    /// Lines of the ledger that are not whole.
    pub torn_lines: usize,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} accepted, {} attempts, {} runs ({} unfinished, {} lost their lease, {} began late), \
             {} completed, {} dead, {} pending, {} torn lines",
            self.accepted,
            self.attempts,
            self.runs,
            self.unfinished,
            self.lost_leases,
            self.late_starts,
            self.completed,
            self.dead,
            self.pending,
            self.torn_lines,
        )
    }
}
