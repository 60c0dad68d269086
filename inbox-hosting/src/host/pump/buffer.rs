use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use inbox_core::policy::HandlerOptions;
use inbox_core::request::Attempt;
use inbox_core::store::{LeaseToken, Wanted};
use tokio::time::Instant;

use super::queue::{HandlerQueue, LONGEST_WAIT};

/// Deliveries in one claim of one key: nothing is gained by more.
pub(super) const CLAIM: usize = 500;

/// Bytes that one claim should bring, and that the buffer should hold.
const WEIGHT: usize = 32 * 1024 * 1024;

/// How long others wait for quarantined deliveries, and these for others: a crash of this process while they
/// run should accuse nobody else.
const ALONE: Duration = Duration::from_millis(100);

/// The bounded local buffer: what was leased and waits for a handler, and who may begin.
#[derive(Debug)]
pub(super) struct Buffer {
    pub(super) queues: Vec<HandlerQueue>,
    by_key: HashMap<String, usize>,
    concurrency: usize,
    size: usize,
    /// How long a run may take that is leased.
    longest_run: Duration,
    running: usize,
    /// Deliveries that calls execute after their first.
    handed: usize,
    weight: usize,
    /// Where the next look for something to begin starts: everyone gets a turn.
    turn: usize,
    /// Deliveries whose earlier worker vanished, each with its queue and since when it waits: mostly
    /// none, and more than one only if the lease of another was lost.
    quarantined: VecDeque<(usize, Attempt, Instant)>,
    /// The group of quarantined deliveries that runs, if one does.
    group: Option<Group>,
}

impl Buffer {
    /// A buffer for `size` deliveries, from which so many calls run at the same time: for each handler what
    /// its attribute says, and how its keys are asked for. No run is leased that takes longer than
    /// `longest_run`.
    pub(super) fn new<'a>(
        concurrency: usize,
        size: usize,
        longest_run: Duration,
        handlers: impl IntoIterator<Item = (&'a HandlerOptions, Vec<Wanted>)>,
    ) -> Self {
        let mut buffer = Self {
            queues: Vec::new(),
            by_key: HashMap::new(),
            concurrency,
            size,
            longest_run,
            running: 0,
            handed: 0,
            weight: 0,
            turn: 0,
            quarantined: VecDeque::new(),
            group: None,
        };
        for (options, wanted) in handlers {
            let at = buffer.queues.len();
            buffer.by_key.extend(wanted.iter().map(|wanted| (wanted.handler_key.clone(), at)));
            buffer.queues.push(HandlerQueue::new(options, wanted, concurrency));
        }
        buffer
    }

    /// Whether there may be more in the store.
    pub(super) fn is_hungry(&self) -> bool {
        self.queues.iter().any(|queue| queue.hungry)
    }

    /// Deliveries that have not begun.
    pub(super) fn queued(&self) -> usize {
        let queued: usize = self.queues.iter().map(HandlerQueue::queued).sum();
        queued + self.quarantined.len() + self.handed
    }

    /// There may be something new for everyone.
    pub(super) fn news(&mut self) {
        self.queues.iter_mut().for_each(HandlerQueue::news);
    }

    /// What is worth asking the store for, and for whom, while so many wait to be settled.
    pub(super) fn wanted(&mut self, unsettled: usize, now: Instant) -> Vec<(usize, Wanted)> {
        let free = self.concurrency.saturating_sub(self.running);
        let left = self.size.saturating_add(free).saturating_sub(self.queued() + unsettled);
        let left = if self.weight < WEIGHT { left } else { 0 };
        let hungry = self.queues.iter().filter(|queue| queue.hungry).count().max(1);
        let mut wanted = Vec::new();
        for at in 0..self.queues.len() {
            let slots = self.slots(at);
            let queue = &mut self.queues[at];
            if !queue.hungry {
                continue;
            }
            let most = queue.room(slots, now);
            let room =
                most.min(left.div_ceil(hungry)).min(CLAIM).min(queue.throughput.fitting(WEIGHT));
            // Whoever has nothing at all is given a chance, however full the buffer is of others.
            let is_idle = queue.running == 0 && queue.queued() == 0 && unsettled < self.size;
            let room = if is_idle { room.max(usize::from(most > 0)) } else { room };
            wanted.extend(queue.ask(room, self.longest_run).map(|wanted| (at, wanted)));
        }
        wanted
    }

    /// Takes in what was leased, unless nobody here serves its key: then it is answered.
    pub(super) fn push(&mut self, attempt: Attempt, now: Instant) -> Option<Attempt> {
        let Some(&at) = self.by_key.get(&attempt.delivery().handler_key) else {
            return Some(attempt);
        };
        let (queue, weight) = (&mut self.queues[at], weight(&attempt));
        queue.throughput.weighs(weight);
        self.weight += weight;
        match attempt.is_quarantined() {
            true => self.quarantined.push_back((at, attempt, now)),
            false => queue.line.push(attempt, now),
        }
        None
    }

    /// The next call that can begin, and whose it is.
    pub(super) fn next(&mut self, now: Instant) -> Option<(usize, Vec<Attempt>)> {
        if let Some((at, attempt, since)) = self.quarantined.front() {
            let (at, is_patient) = (*at, *since + ALONE > now);
            let has_begun = self.group.is_some_and(|group| Some(group.token) == attempt.token());
            if self.running > 0 && is_patient && !has_begun {
                return None;
            }
            if self.running < self.concurrency && self.queues[at].may_begin(now) {
                let (_, attempt, _) = self.quarantined.pop_front()?;
                self.group = match self.group.filter(|_| has_begun) {
                    Some(group) => Some(Group { running: group.running + 1, ..group }),
                    None => attempt.token().map(|token| Group { token, since: now, running: 1 }),
                };
                self.queues[at].begins(1, now);
                return Some(self.begins(at, vec![attempt]));
            }
        }
        if self.group.is_some_and(|group| group.since + ALONE > now) {
            return None;
        }
        let (count, turn) = (self.queues.len(), self.turn);
        for at in (0..count).map(|step| (turn + step) % count.max(1)) {
            if self.slots(at) > 0 && self.queues[at].can_begin(now) {
                self.turn = at + 1;
                let attempts = self.queues[at].pop(now);
                return Some(self.begins(at, attempts));
            }
        }
        None
    }

    /// How many more calls this handler may begin. Nobody takes the last slot of another handler, so
    /// that one which stalls stops only itself.
    fn slots(&self, at: usize) -> usize {
        let free = self.concurrency.saturating_sub(self.running);
        let is_idle = |(other, queue): &(usize, &HandlerQueue)| *other != at && queue.running == 0;
        let idle = self.queues.iter().enumerate().filter(is_idle).count();
        let kept = idle.min(self.concurrency / 4);
        // The first call of a handler may take what is kept for it.
        let least = usize::from(self.queues[at].running == 0).min(free);
        free.saturating_sub(kept).max(least)
    }

    fn begins(&mut self, at: usize, attempts: Vec<Attempt>) -> (usize, Vec<Attempt>) {
        self.running += 1;
        (at, self.lightened(attempts))
    }

    /// A call is over, which took so long unless it was cut off.
    pub(super) fn ended(
        &mut self,
        at: usize,
        quarantined: Option<LeaseToken>,
        took: Option<Duration>,
    ) {
        self.running = self.running.saturating_sub(1);
        let queue = &mut self.queues[at];
        queue.running = queue.running.saturating_sub(1);
        if let Some(took) = took {
            queue.throughput.ended(took);
        }
        // Another one may have begun meanwhile, if this one's lease was lost.
        if let Some(group) = self.group.filter(|group| Some(group.token) == quarantined) {
            let running = group.running.saturating_sub(1);
            self.group = Some(Group { running, ..group }).filter(|group| group.running > 0);
        }
    }

    /// When time alone changes what can begin.
    pub(super) fn wake_at(&self, now: Instant) -> Option<Instant> {
        let waits = self.quarantined.front().map(|(_, _, since)| *since);
        let runs = self.group.map(|group| group.since);
        let quarantined = [waits, runs].into_iter().flatten().map(|since| since + ALONE);
        let queues = self.queues.iter().filter_map(|queue| queue.next(now));
        queues.chain(quarantined.filter(|at| *at > now)).min()
    }

    /// Takes back what has waited for too long.
    pub(super) fn stale(&mut self, now: Instant) -> Vec<Attempt> {
        let mut stale: Vec<_> = self.queues.iter_mut().flat_map(|queue| queue.stale(now)).collect();
        // One that waits for a handler's limit keeps this host from being given another group.
        while let Some((at, attempt, since)) = self.quarantined.pop_front() {
            if since + LONGEST_WAIT > now {
                self.quarantined.push_front((at, attempt, since));
                break;
            }
            stale.push(attempt);
        }
        self.lightened(stale)
    }

    /// Takes back everything that has not begun, but not what is behind a delivery that has.
    pub(super) fn take_all(&mut self) -> Vec<Attempt> {
        let mut all: Vec<_> =
            self.queues.iter_mut().flat_map(|queue| queue.line.take_all()).collect();
        all.extend(self.quarantined.drain(..).map(|(_, attempt, _)| attempt));
        self.lightened(all)
    }

    fn lightened(&mut self, attempts: Vec<Attempt>) -> Vec<Attempt> {
        let lighter: usize = attempts.iter().map(weight).sum();
        self.weight = self.weight.saturating_sub(lighter);
        attempts
    }
}

/// Quarantined deliveries of one lease that run.
#[derive(Debug, Clone, Copy)]
struct Group {
    token: LeaseToken,
    since: Instant,
    running: usize,
}

/// The bytes that a delivery keeps in memory, more or less.
fn weight(attempt: &Attempt) -> usize {
    size_of::<Attempt>() + attempt.delivery().message.payload.as_bytes().len()
}

mod runs;

#[cfg(test)]
mod tests;
