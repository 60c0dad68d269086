use std::collections::{HashMap, VecDeque};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use inbox_core::store::{LeaseToken, Wanted};
use tokio::time::Instant;

use super::place::{LONGEST_WAIT, Place};
use crate::handlers::Handlers;
use crate::host::HostOptions;
use crate::work::Work;

/// Deliveries in one claim of one key: nothing is gained by more.
const CLAIM: usize = 500;

/// Bytes that one claim should bring, and that the buffer should hold.
const WEIGHT: usize = 32 * 1024 * 1024;

/// How long others wait for a suspect, and a suspect for others: a crash of this process while it
/// runs should accuse nobody else.
const ALONE: Duration = Duration::from_millis(100);

/// The bounded local buffer: what was leased and waits for a handler, and who may begin.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) places: Vec<Place>,
    by_key: HashMap<&'static str, usize>,
    concurrency: usize,
    buffer: usize,
    running: usize,
    weight: usize,
    /// Where the next look for something to begin starts: everyone gets a turn.
    turn: usize,
    /// Deliveries whose earlier worker vanished, each with its place and since when it waits: mostly
    /// none, and more than one only if the lease of another was lost.
    suspects: VecDeque<(usize, Work, Instant)>,
    /// The suspect that runs, if one does, and since when.
    alone: Option<(LeaseToken, Instant)>,
}

impl Desk {
    pub(super) fn new(handlers: &Handlers, options: &HostOptions) -> Self {
        let concurrency = options.concurrency.get() as usize;
        let mut desk = Self {
            places: Vec::new(),
            by_key: HashMap::new(),
            concurrency,
            buffer: options.buffer,
            running: 0,
            weight: 0,
            turn: 0,
            suspects: VecDeque::new(),
            alone: None,
        };
        for (pipeline, wanted) in handlers.served(options.only.as_deref(), NonZeroU32::MIN) {
            let at = desk.places.len();
            desk.by_key.extend(pipeline.descriptor().keys().map(|key| (key, at)));
            desk.places.push(Place::new(Arc::clone(pipeline), wanted, concurrency));
        }
        desk
    }

    pub(super) fn queued(&self) -> usize {
        self.places.iter().map(Place::queued).sum::<usize>() + self.suspects.len()
    }

    /// There may be something new for everyone.
    pub(super) fn news(&mut self) {
        self.places.iter_mut().for_each(Place::news);
    }

    /// What is worth asking the store for, and for whom, while so many wait to be settled.
    pub(super) fn wanted(&mut self, unsettled: usize, now: Instant) -> Vec<(usize, Wanted)> {
        let free = self.concurrency.saturating_sub(self.running);
        let left = self.buffer.saturating_add(free).saturating_sub(self.queued() + unsettled);
        let left = if self.weight < WEIGHT { left } else { 0 };
        let hungry = self.places.iter().filter(|place| place.hungry).count().max(1);
        let mut wanted = Vec::new();
        for at in 0..self.places.len() {
            let slots = self.slots(at);
            let place = &mut self.places[at];
            if !place.hungry {
                continue;
            }
            let most = place.room(slots, now);
            let room = most.min(left.div_ceil(hungry)).min(CLAIM).min(place.pace.fitting(WEIGHT));
            // Whoever has nothing at all is given a chance, however full the buffer is of others.
            let is_idle = place.running == 0 && place.queued() == 0 && unsettled < self.buffer;
            let room = if is_idle { room.max(usize::from(most > 0)) } else { room };
            wanted.extend(place.ask(room).map(|wanted| (at, wanted)));
        }
        wanted
    }

    /// Takes in what was leased, unless nobody here serves its key: then it is answered.
    pub(super) fn push(&mut self, work: Work, now: Instant) -> Option<Work> {
        let Some(&at) = self.by_key.get(&*work.handler_key) else { return Some(work) };
        let place = &mut self.places[at];
        place.pace.weighs(work.weight());
        self.weight += work.weight();
        match work.suspect {
            true => self.suspects.push_back((at, work, now)),
            false => place.push(work, now),
        }
        None
    }

    /// The next call that can begin, and whose it is.
    pub(super) fn next(&mut self, now: Instant) -> Option<(usize, Vec<Work>)> {
        if self.alone.is_some_and(|(_, since)| since + ALONE > now) {
            return None;
        }
        if let Some((at, _, since)) = self.suspects.front() {
            let (at, is_patient) = (*at, *since + ALONE > now);
            if self.running > 0 && is_patient {
                return None;
            }
            if self.running < self.concurrency && self.places[at].may_begin(now) {
                let (_, work, _) = self.suspects.pop_front()?;
                self.alone = Some((work.lease.token(), now));
                self.places[at].begins(1, now);
                return Some(self.begins(at, vec![work]));
            }
        }
        let (count, turn) = (self.places.len(), self.turn);
        for at in (0..count).map(|step| (turn + step) % count.max(1)) {
            if self.slots(at) > 0 && self.places[at].can_begin(now) {
                self.turn = at + 1;
                let works = self.places[at].pop(now);
                return Some(self.begins(at, works));
            }
        }
        None
    }

    /// How many more calls this handler may begin. Nobody takes the last slot of another handler, so
    /// that one which stalls stops only itself.
    fn slots(&self, at: usize) -> usize {
        let free = self.concurrency.saturating_sub(self.running);
        let is_idle = |(other, place): &(usize, &Place)| *other != at && place.running == 0;
        let idle = self.places.iter().enumerate().filter(is_idle).count();
        let kept = idle.min(self.concurrency / 4);
        // The first call of a handler may take what is kept for it.
        let least = usize::from(self.places[at].running == 0).min(free);
        free.saturating_sub(kept).max(least)
    }

    fn begins(&mut self, at: usize, works: Vec<Work>) -> (usize, Vec<Work>) {
        self.running += 1;
        let weight: usize = works.iter().map(Work::weight).sum();
        self.weight = self.weight.saturating_sub(weight);
        (at, works)
    }

    /// A call is over, which took so long unless it was cut off.
    pub(super) fn ended(&mut self, at: usize, suspect: Option<LeaseToken>, took: Option<Duration>) {
        self.running = self.running.saturating_sub(1);
        let place = &mut self.places[at];
        place.running = place.running.saturating_sub(1);
        if let Some(took) = took {
            place.pace.ended(took);
        }
        // Another one may have begun meanwhile, if this one's lease was lost.
        self.alone = self.alone.filter(|(running, _)| Some(*running) != suspect);
    }

    /// When time alone changes what can begin.
    pub(super) fn wake_at(&self, now: Instant) -> Option<Instant> {
        let waits = self.suspects.front().map(|(_, _, since)| *since);
        let alone = self.alone.map(|(_, since)| since);
        let suspects = [waits, alone].into_iter().flatten().map(|since| since + ALONE);
        let places = self.places.iter().filter_map(|place| place.next(now));
        places.chain(suspects.filter(|at| *at > now)).min()
    }

    /// Takes back what has waited for too long.
    pub(super) fn stale(&mut self, now: Instant) -> Vec<Work> {
        let mut stale: Vec<_> = self.places.iter_mut().flat_map(|place| place.stale(now)).collect();
        // A suspect that waits for a handler's limit keeps this host from being given any other.
        while let Some((at, work, since)) = self.suspects.pop_front() {
            if since + LONGEST_WAIT > now {
                self.suspects.push_front((at, work, since));
                break;
            }
            stale.push(work);
        }
        self.lightened(stale)
    }

    /// Takes back everything that has not begun.
    pub(super) fn take_all(&mut self) -> Vec<Work> {
        let mut all: Vec<_> = self.places.iter_mut().flat_map(Place::take_all).collect();
        all.extend(self.suspects.drain(..).map(|(_, work, _)| work));
        self.lightened(all)
    }

    fn lightened(&mut self, works: Vec<Work>) -> Vec<Work> {
        let weight: usize = works.iter().map(Work::weight).sum();
        self.weight = self.weight.saturating_sub(weight);
        works
    }
}
