use std::collections::{HashMap, VecDeque};

use inbox_core::request::LaneRun;
use inbox_core::settle::Settlement;

use super::decided::Decided;

/// Deliveries that are settled together.
const GROUP: usize = 500;

/// What is to be written of deliveries, until it is.
///
/// Settlements of one run are written in its order: none is in a group while an earlier one is in another
/// group that is being written.
#[derive(Debug, Default)]
pub(super) struct Unsettled {
    done: VecDeque<Decided>,
    /// Failures have groups of their own: they take longer.
    others: VecDeque<Decided>,
    /// Whose turn it is to be written.
    others_next: bool,
    runs: HashMap<u64, OfRun>,
    /// All, those included that are being written.
    count: usize,
    groups: u64,
}

/// What is to be written of one run.
#[derive(Debug, Default)]
struct OfRun {
    /// How many are in a queue: all of them in one.
    queued: usize,
    is_in_others: bool,
    /// How many are being written: all of them in this group.
    writing: usize,
    group: u64,
    /// Later than those that are being written, and earlier than those in the queue.
    held_back: VecDeque<Decided>,
}

/// What is written next.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) settled: Vec<Decided>,
    /// Not to be written, because an earlier one of its run was not.
    pub(super) lost: Vec<Decided>,
}

impl Unsettled {
    /// How many are not known to be written.
    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// Whether something waits to be written.
    pub(super) fn has_queued(&self) -> bool {
        !(self.done.is_empty() && self.others.is_empty())
    }

    /// Whether what waits to be written should not wait for another group: there is much of it, or others wait for
    /// the room that it takes of a limit.
    pub(super) fn is_worth_a_group(&self) -> bool {
        let mut fronts = [self.done.front(), self.others.front()].into_iter().flatten();
        self.done.len() + self.others.len() >= GROUP / 2
            || fronts.any(|decided| decided.settle.shares.limit)
    }

    /// Whether something of this run is not known to be written.
    pub(super) fn has(&self, run: &LaneRun) -> bool {
        self.runs.contains_key(&run.id())
    }

    /// To be written with the next group, after all earlier ones of its run.
    pub(super) fn push(&mut self, decided: Decided) {
        self.count += 1;
        let Some(run) = decided.lane() else {
            let is_other = is_other(&decided);
            self.queue(is_other).push_back(decided);
            return;
        };
        let of_run = self.runs.entry(run.id()).or_default();
        // Behind the others of its run, whatever it is.
        if of_run.queued == 0 {
            of_run.is_in_others = is_other(&decided);
        }
        of_run.queued += 1;
        let is_other = of_run.is_in_others;
        self.queue(is_other).push_back(decided);
    }

    /// The next group, if there is something that can be written now.
    pub(super) fn next_group(&mut self) -> Option<Group> {
        self.groups += 1;
        let mut group = Group::default();
        while group.settled.is_empty() && !(self.done.is_empty() && self.others.is_empty()) {
            // In turn: under load there is always something of either kind.
            self.others_next = !self.others_next;
            let is_other = (self.others_next || self.done.is_empty()) && !self.others.is_empty();
            while group.settled.len() < GROUP {
                let Some(decided) = self.queue(is_other).pop_front() else { break };
                self.take(decided, &mut group);
            }
        }
        let is_nothing = group.settled.is_empty() && group.lost.is_empty();
        (!is_nothing).then_some(group)
    }

    /// Adds to a group, unless an earlier one is being written in another.
    fn take(&mut self, decided: Decided, group: &mut Group) {
        if let Some(run) = decided.lane() {
            let of_run = self.runs.entry(run.id()).or_default();
            of_run.queued = of_run.queued.saturating_sub(1);
            if of_run.writing > 0 && of_run.group != self.groups {
                of_run.held_back.push_back(decided);
                return;
            }
            of_run.writing += 1;
            of_run.group = self.groups;
            if run.is_lost() {
                group.lost.push(decided);
                return;
            }
        }
        group.settled.push(decided);
    }

    /// This one was written, or it is known that it will not be.
    pub(super) fn over(&mut self, run: Option<&LaneRun>) {
        self.count = self.count.saturating_sub(1);
        let Some((run, of_run)) = run.and_then(|it| Some((it, self.runs.get_mut(&it.id())?)))
        else {
            return;
        };
        of_run.writing = of_run.writing.saturating_sub(1);
        if of_run.writing > 0 {
            return;
        }
        let held_back = std::mem::take(&mut of_run.held_back);
        if of_run.queued == 0 {
            of_run.is_in_others = held_back.front().is_some_and(is_other);
        }
        of_run.queued += held_back.len();
        let is_other = of_run.is_in_others;
        if of_run.queued == 0 {
            self.runs.remove(&run.id());
        }
        // Nothing of its run that is in the queue is older.
        let queue = self.queue(is_other);
        held_back.into_iter().rev().for_each(|decided| queue.push_front(decided));
    }

    fn queue(&mut self, is_other: bool) -> &mut VecDeque<Decided> {
        if is_other { &mut self.others } else { &mut self.done }
    }
}

fn is_other(decided: &Decided) -> bool {
    !matches!(decided.settle.settlement, Settlement::Done(_))
}

#[cfg(test)]
mod tests;
