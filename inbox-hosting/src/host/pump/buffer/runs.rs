use std::time::Duration;

use inbox_core::request::{Attempt, LaneRun};

use super::{Buffer, weight};

/// Runs, of which one delivery at a time may begin.
impl Buffer {
    /// What the call of these executes right after them.
    pub(in crate::host::pump) fn behind(
        &mut self,
        at: usize,
        attempts: &[Attempt],
    ) -> Vec<Attempt> {
        let behind = self.queues[at].behind(attempts);
        self.handed += behind.len();
        self.lightened(behind)
    }

    /// A call has executed one delivery and begun the next one.
    pub(in crate::host::pump) fn went_on(&mut self, at: usize, took: Duration) {
        self.handed = self.handed.saturating_sub(1);
        self.queues[at].throughput.ended(took);
    }

    /// A call is over, with so many deliveries behind the last one that it has begun.
    pub(in crate::host::pump) fn left(&mut self, behind: usize) {
        self.handed = self.handed.saturating_sub(behind);
    }

    /// Takes back what a call has not begun. Answers it, if the run does not go on.
    pub(in crate::host::pump) fn put_back(
        &mut self,
        at: usize,
        behind: Vec<Attempt>,
    ) -> Vec<Attempt> {
        self.left(behind.len());
        let heavier: usize = behind.iter().map(weight).sum();
        self.weight += heavier;
        let stopped = self.queues[at].line.put_back(behind);
        self.lightened(stopped)
    }

    /// A run of this handler does not go on. Answers what of it has not begun.
    pub(in crate::host::pump) fn stop(&mut self, at: usize, run: &LaneRun) -> Vec<Attempt> {
        let rest = self.queues[at].line.stop(run);
        self.lightened(rest)
    }

    /// Where the deliveries that were leased for this key wait.
    pub(in crate::host::pump) fn queue_of(&self, handler_key: &str) -> Option<usize> {
        self.by_key.get(handler_key).copied()
    }
}
