use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use inbox_core::request::{Attempt, LaneRun};
use tokio::time::Instant;

/// For so long a run goes on before the other deliveries of its handler; then these have a turn.
const TURN: Duration = Duration::from_millis(250);

/// The deliveries that wait for one handler, in the order in which they may begin.
///
/// Of a run of a lane only one delivery at a time is where calls are begun from, and of one with permits as many as
/// these: the others wait behind, and the next one takes a place when the one in it has come to an end.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// The next deliveries of runs that go on.
    going: VecDeque<Next>,
    ready: VecDeque<Next>,
    runs: HashMap<u64, Run>,
    /// Deliveries that wait, those behind others of their run included.
    queued: usize,
}

/// A delivery that can begin.
#[derive(Debug)]
struct Next {
    attempt: Attempt,
    leased: Instant,
    /// When it became the next one of its run; without a run, when it was leased.
    since: Instant,
}

/// What waits behind one delivery of a run.
#[derive(Debug)]
struct Run {
    behind: VecDeque<Attempt>,
    /// How many are not behind: in the line, or begun and not at their end.
    ahead: usize,
    /// When one last had its turn.
    since: Instant,
    leased: Instant,
    /// Since when it goes on.
    turn: Option<Instant>,
    head: Head,
}

/// Where the delivery is that the others of its run wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Head {
    Queued,
    Begun,
    /// It has come to an end, which must be written before the next one begins.
    Unwritten,
}

impl Line {
    /// Deliveries that wait.
    pub(super) const fn queued(&self) -> usize {
        self.queued
    }

    /// Deliveries that can begin, as far as their runs are concerned.
    pub(super) fn next_ones(&self) -> usize {
        self.going.len() + self.ready.len()
    }

    /// How many of the waiting deliveries begin within a while, in which one call after the other makes so
    /// many: those that can, and of each run some of those behind.
    pub(super) fn soon(&self, one_after_the_other: usize) -> usize {
        let behind = self.queued - self.next_ones();
        let ahead: usize = self.runs.values().map(|run| run.ahead).sum();
        self.next_ones() + behind.min(ahead.saturating_mul(one_after_the_other))
    }

    /// Takes in a delivery; of a run, behind those of it that are here already.
    pub(super) fn push(&mut self, attempt: Attempt, now: Instant) {
        self.queued += 1;
        if let Some(run) = attempt.run() {
            let known = self.runs.entry(run.id()).or_insert_with(|| Run {
                behind: VecDeque::new(),
                ahead: 0,
                since: now,
                leased: now,
                turn: None,
                head: Head::Queued,
            });
            if known.ahead >= run.width() {
                known.behind.push_back(attempt);
                return;
            }
            known.ahead += 1;
        }
        self.ready.push_back(Next { attempt, leased: now, since: now });
    }

    /// The delivery that begins next.
    pub(super) fn front(&self) -> Option<&Attempt> {
        self.going.front().or_else(|| self.ready.front()).map(|next| &next.attempt)
    }

    /// When the one was leased that has waited for longest, more or less.
    pub(super) fn oldest(&self) -> Option<Instant> {
        let fronts = [self.going.front(), self.ready.front()];
        fronts.into_iter().flatten().map(|next| next.leased).min()
    }

    /// Takes out the delivery that begins next.
    pub(super) fn pop(&mut self, now: Instant) -> Option<Attempt> {
        let Next { attempt, .. } = self.going.pop_front().or_else(|| self.ready.pop_front())?;
        self.queued -= 1;
        if let Some(run) = attempt.run().and_then(|run| self.runs.get_mut(&run.id())) {
            run.turn.get_or_insert(now);
            run.head = Head::Begun;
        }
        Some(attempt)
    }

    /// Takes out the next ones of a run, to be executed right after the one that has begun.
    pub(super) fn behind(&mut self, run: &LaneRun, most: usize) -> Vec<Attempt> {
        let Some(run) = self.runs.get_mut(&run.id()) else { return Vec::new() };
        let taken: Vec<_> = run.behind.drain(..most.min(run.behind.len())).collect();
        self.queued -= taken.len();
        taken
    }

    /// Takes back those that were not begun after all. Answers them, if their run was stopped meanwhile.
    pub(super) fn put_back(&mut self, attempts: Vec<Attempt>) -> Vec<Attempt> {
        let run = attempts.first().and_then(Attempt::run).map(LaneRun::id);
        let Some(run) = run.and_then(|run| self.runs.get_mut(&run)) else { return attempts };
        self.queued += attempts.len();
        attempts.into_iter().rev().for_each(|attempt| run.behind.push_front(attempt));
        Vec::new()
    }

    /// A delivery of the run has come to an end: the next one has its turn.
    pub(super) fn goes_on(&mut self, run: &LaneRun, now: Instant) {
        let Some(known) = self.runs.get_mut(&run.id()) else { return };
        let Some(attempt) = known.behind.pop_front() else {
            known.ahead -= 1;
            if known.ahead == 0 {
                self.runs.remove(&run.id());
            }
            return;
        };
        (known.head, known.since) = (Head::Queued, now);
        let next = Next { attempt, leased: known.leased, since: now };
        match known.turn {
            Some(turn) if now < turn + TURN => self.going.push_back(next),
            _ => {
                known.turn = None;
                self.ready.push_back(next);
            }
        }
    }

    /// A delivery of the run has come to an end, and the next one has its turn once that is written.
    pub(super) fn waits(&mut self, run: &LaneRun) {
        if let Some(known) = self.runs.get_mut(&run.id()) {
            known.head = Head::Unwritten;
        }
    }

    /// The end of a delivery of the run is written.
    pub(super) fn written(&mut self, run: &LaneRun, now: Instant) {
        if self.runs.get(&run.id()).is_some_and(|known| known.head == Head::Unwritten) {
            self.goes_on(run, now);
        }
    }

    /// The run does not go on. Takes out what of it has not begun, in its order.
    pub(super) fn stop(&mut self, run: &LaneRun) -> Vec<Attempt> {
        let Some(stopped) = self.runs.remove(&run.id()) else { return Vec::new() };
        let mut rest = Vec::new();
        // Of a lane this is seldom: the end of an earlier one could not be written.
        if stopped.head == Head::Queued || !run.is_lane() {
            for line in [&mut self.going, &mut self.ready] {
                let of_run = |next: &Next| next.attempt.run().is_some_and(|it| it.id() == run.id());
                let (taken, left) = std::mem::take(line).into_iter().partition(of_run);
                *line = left;
                rest.extend(VecDeque::into_iter(taken).map(|next| next.attempt));
            }
        }
        rest.extend(stopped.behind);
        self.queued -= rest.len();
        rest
    }

    /// Takes out everything that has waited for too long, each run from its next delivery to its end. Runs
    /// of which one is at work are left alone.
    pub(super) fn stale(&mut self, longest: Duration, now: Instant) -> Vec<Attempt> {
        let is_stale =
            |line: &VecDeque<Next>| line.front().is_some_and(|next| next.since + longest <= now);
        let mut stale = VecDeque::new();
        if is_stale(&self.going) {
            stale.append(&mut self.going);
        }
        if is_stale(&self.ready) {
            stale.append(&mut self.ready);
        }
        let mut stale = self.with_runs(stale);
        // Where all permits are in use for long, others may have the deliveries that wait for one.
        stale.extend(self.without_permit(|run| run.since + longest <= now));
        stale
    }

    /// Takes out everything that can be given back: of a lane nothing can behind a delivery that has begun.
    pub(super) fn take_all(&mut self) -> Vec<Attempt> {
        let mut all = std::mem::take(&mut self.going);
        all.append(&mut self.ready);
        let mut all = self.with_runs(all);
        for (_, run) in self.runs.extract_if(|_, run| run.head == Head::Unwritten) {
            self.queued -= run.behind.len();
            all.extend(run.behind);
        }
        all.extend(self.without_permit(|_| true));
        all
    }

    /// Takes out what waits for a permit, of the runs that are chosen.
    fn without_permit(&mut self, is_chosen: impl Fn(&Run) -> bool) -> Vec<Attempt> {
        let has_permits = |run: &Run| {
            let next = run.behind.front().and_then(Attempt::run);
            next.is_some_and(|run| !run.is_lane())
        };
        let runs = self.runs.values_mut().filter(|run| has_permits(run) && is_chosen(run));
        let taken: Vec<_> = runs.flat_map(|run| std::mem::take(&mut run.behind)).collect();
        self.queued -= taken.len();
        taken
    }

    /// These, each with what is behind it.
    fn with_runs(&mut self, taken: VecDeque<Next>) -> Vec<Attempt> {
        let mut attempts = Vec::with_capacity(taken.len());
        for Next { attempt, .. } in taken {
            let run = attempt.run().map(LaneRun::id);
            attempts.push(attempt);
            let run = run.and_then(|run| self.runs.remove(&run));
            attempts.extend(run.into_iter().flat_map(|run| run.behind));
        }
        self.queued -= attempts.len();
        attempts
    }
}

#[cfg(test)]
mod tests;
