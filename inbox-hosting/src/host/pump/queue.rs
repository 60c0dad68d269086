use std::num::NonZeroU32;
use std::time::Duration;

use inbox_core::policy::HandlerOptions;
use inbox_core::request::Attempt;
use inbox_core::store::{Runs, Terms, Wanted};
use tokio::time::Instant;

use super::line::Line;
use super::rate::RateLimiter;
use super::reach::{Found, Reach};
use super::throughput::Throughput;

/// What waits in the buffer for longer is given back, for others to take.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// For so long one task executes a run before it asks whether others are to begin first.
pub(super) const SLICE: Duration = Duration::from_millis(5);

/// One handler's part of the buffer: what was leased for it, and how much more it can take.
#[derive(Debug)]
pub(super) struct HandlerQueue {
    /// How each of its keys is asked for.
    pub(super) wanted: Vec<Wanted>,
    pub(super) line: Line,
    /// Deliveries of one call, and how long an incomplete call waits for more.
    batch: usize,
    linger: Duration,
    /// Calls at the same time.
    most: usize,
    pub(super) running: usize,
    /// Whether there may be more in the store.
    pub(super) hungry: bool,
    /// How many of its keys are still to be asked for, since there was news.
    unasked: usize,
    /// Which of its keys is asked for first.
    turn: usize,
    pub(super) throughput: Throughput,
    reach: Reach,
    rate: Option<RateLimiter>,
}

impl HandlerQueue {
    pub(super) fn new(options: &HandlerOptions, wanted: Vec<Wanted>, concurrency: usize) -> Self {
        let most = options.concurrency.process.map_or(concurrency, |most| most.get() as usize);
        let most = most.min(concurrency);
        let batch = options.batch.map_or(1, |batch| batch.size.get() as usize);
        Self {
            batch,
            linger: options.batch.map_or(Duration::ZERO, |batch| batch.linger),
            most,
            rate: options.rate.map(RateLimiter::new),
            line: Line::default(),
            reach: Reach::new(most.saturating_mul(batch)),
            running: 0,
            hungry: true,
            unasked: wanted.len(),
            turn: 0,
            throughput: Throughput::default(),
            wanted,
        }
    }

    pub(super) fn queued(&self) -> usize {
        self.line.queued()
    }

    /// How many more deliveries are worth leasing now, if any: `free` slots are, for anyone.
    pub(super) fn room(&mut self, free: usize, now: Instant) -> usize {
        let slots = self.most.saturating_sub(self.running).min(free);
        let mut capacity = (slots + self.throughput.ahead(self.most)).saturating_mul(self.batch);
        // A long run keeps one call busy, and the others need something to do meanwhile.
        let mut soon = self.line.soon(self.throughput.ahead(1));
        if let Some(rate) = &mut self.rate {
            capacity = capacity.min(rate.left(now));
            soon = self.queued();
        }
        let room = capacity.saturating_sub(soon);
        // In large steps, unless there is nothing to do meanwhile, or a call waits for more.
        let is_worth_it = self.line.next_ones() < self.batch || room * 2 >= capacity;
        if is_worth_it { room } else { 0 }
    }

    /// There may be something new for any of its keys.
    pub(super) fn news(&mut self) {
        self.hungry = true;
        self.unasked = self.wanted.len();
    }

    /// So many of its keys were asked for, and had no more than what was taken.
    pub(super) fn asked(&mut self, keys: usize) {
        self.unasked = self.unasked.saturating_sub(keys);
        self.hungry = self.unasked > 0;
    }

    /// How its keys are asked for, so that all of them together bring no more than `room`; if there is
    /// not enough for each, they take turns.
    /// No run is longer than what the handler does `within` a time.
    pub(super) fn ask(&mut self, room: usize, within: Duration) -> impl Iterator<Item = Wanted> {
        let keys = self.wanted.len().max(1);
        self.turn = (self.turn + 1) % keys;
        let (each, rest, turn) = (room / keys, room % keys, self.turn);
        let limits = (0..keys).map(move |key| each + usize::from((key + turn) % keys < rest));
        let (reach, length, quick) = (&self.reach, self.throughput.run(within), self.quick());
        self.wanted.iter().zip(limits).filter_map(move |(wanted, limit)| {
            let limit = NonZeroU32::new(u32::try_from(limit).unwrap_or(u32::MAX))?;
            let terms = Terms { runs: reach.runs(limit, length, quick), ..wanted.terms };
            Some(Wanted { limit, terms, ..wanted.clone() })
        })
    }

    /// A claim brought this of lanes. Answers whether there may be more.
    pub(super) fn found(&mut self, asked: Runs, limit: NonZeroU32, found: Found) -> bool {
        let quick = self.quick();
        self.reach.found(asked, limit, found, quick)
    }

    /// How many calls are made in a millisecond, one after the other.
    fn quick(&self) -> usize {
        self.throughput.calls_within(Duration::from_millis(1))
    }

    /// Whether a call can begin now, as far as this handler is concerned.
    pub(super) fn can_begin(&mut self, now: Instant) -> bool {
        let Some(oldest) = self.line.oldest() else { return false };
        let is_complete = self.line.next_ones() >= self.batch || oldest + self.linger <= now;
        is_complete && self.may_begin(now)
    }

    /// Whether its own limits let a call begin, whatever that is for.
    pub(super) fn may_begin(&mut self, now: Instant) -> bool {
        let has_rate = self.rate.as_mut().is_none_or(|rate| rate.left(now) > 0);
        self.running < self.most && has_rate
    }

    /// What the next call is given: of each run the next one.
    pub(super) fn pop(&mut self, now: Instant) -> Vec<Attempt> {
        let left = self.rate.as_mut().map_or(usize::MAX, |rate| rate.left(now));
        let mut attempts: Vec<Attempt> = Vec::new();
        while attempts.len() < self.batch.min(left) {
            let fits = self.line.front().is_some_and(|attempt| {
                attempts.first().is_none_or(|first: &Attempt| go_together(first, attempt))
            });
            if !fits {
                break;
            }
            attempts.extend(self.line.pop(now));
        }
        self.begins(attempts.len(), now);
        attempts
    }

    /// What may be executed right after this call of one delivery, without asking here again: the next ones
    /// of its run, where the handler is fast and nothing but that counts.
    pub(super) fn behind(&mut self, attempts: &[Attempt]) -> Vec<Attempt> {
        match attempts.first().and_then(Attempt::run) {
            Some(run) if run.is_lane() && self.batch == 1 && self.rate.is_none() => {
                self.line.behind(run, self.throughput.calls_within(SLICE))
            }
            _ => Vec::new(),
        }
    }

    /// A call begins for so many deliveries.
    pub(super) fn begins(&mut self, deliveries: usize, now: Instant) {
        self.running += 1;
        if let Some(rate) = &mut self.rate {
            rate.begin(deliveries, now);
        }
    }

    /// When time alone lets a call begin, or makes room.
    pub(super) fn next(&self, now: Instant) -> Option<Instant> {
        let lingers = self.line.oldest().filter(|_| self.running < self.most && self.batch > 1);
        let lingers = lingers.map(|oldest| oldest + self.linger);
        let rate = self.rate.as_ref().and_then(RateLimiter::next);
        let rate = rate.filter(|_| self.hungry || self.queued() > 0);
        // What has passed waits for something else, such as a free slot.
        lingers.into_iter().chain(rate).filter(|at| *at > now).min()
    }

    /// Takes back what has waited for too long.
    pub(super) fn stale(&mut self, now: Instant) -> Vec<Attempt> {
        let longest = LONGEST_WAIT.max(2 * self.linger);
        let stale = self.line.stale(longest, now);
        if !stale.is_empty() {
            self.throughput.lasts(longest);
        }
        stale
    }
}

/// Whether one call of a handler may be given both: a quarantined delivery has a call of its own.
fn go_together(one: &Attempt, other: &Attempt) -> bool {
    one.delivery().handler_key == other.delivery().handler_key
        && !one.is_quarantined()
        && !other.is_quarantined()
}
