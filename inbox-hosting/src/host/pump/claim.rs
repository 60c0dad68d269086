use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;
use std::pin::Pin;
use std::time::Duration;

use inbox_core::request::{Attempt, HeldLease, LaneRun};
use inbox_core::schedule::Priority;
use inbox_core::store::{
    Lease, LeaseRequest, LeaseStore as _, LeaseToken, StateStore as _, Store, StoreError,
    Unreadable, Wanted,
};
use tokio::time::Instant;

use super::Pump;
use super::decided::Decided;
use super::reach::Found;
use super::runs::runs;
use crate::Inbox;
use crate::host::HostLoop;

/// A claim that is under way.
pub(super) type Claiming = Pin<Box<dyn Future<Output = Claim> + Send>>;

/// What came of a claim.
pub(super) struct Claim {
    asked: Instant,
    /// What was asked for.
    asked_for: Vec<(usize, Wanted)>,
    /// How many quarantined deliveries it asked for.
    quarantine: Option<NonZeroU32>,
    answer: Result<Vec<Lease>, StoreError>,
}

impl<S: Store> Pump<S> {
    /// Begins a claim, if there is room for what it may bring.
    pub(super) fn lease(&mut self) {
        let now = Instant::now();
        if self.claiming.is_some() || now < self.claim_at {
            return;
        }
        if self.poll_at <= now {
            // However busy some are, nobody is forgotten.
            self.buffer.news();
            self.poll_at = now + self.shared.options().poll_interval;
        }
        self.claim(now);
    }

    /// Begins a claim for those who want something, unless one is under way.
    pub(super) fn claim(&mut self, now: Instant) {
        if self.claiming.is_some() {
            return;
        }
        let wanted = match self.is_paused() {
            true => Vec::new(),
            false => self.buffer.wanted(self.unsettled.len(), now),
        };
        self.is_content = wanted.is_empty();
        if self.is_content {
            return;
        }
        let asked_for = wanted.clone();
        let inbox = self.shared.inbox.clone();
        let duration = self.shared.leases.duration();
        let quarantine = self.quarantine.asked();
        let request = LeaseRequest {
            host: inbox.host().to_owned(),
            duration,
            wanted: wanted.into_iter().map(|(_, wanted)| wanted).collect(),
            tenants: self.shared.options().tenants.clone(),
            quarantine,
            first: first(self.claims, self.shared.options().low_priority_share),
        };
        self.claims += 1;
        self.news = false;
        self.claiming = Some(Box::pin(async move {
            let asked = Instant::now();
            let answer = inbox.port().lease(request, inbox.scheduler().clock().now()).await;
            let is_late = asked.elapsed() >= duration / 3;
            let (asked, answer) = match answer {
                Ok(leases) if is_late => inbox.renewed_first(leases, duration).await,
                answer => (asked, answer),
            };
            Claim { asked, asked_for, quarantine, answer }
        }));
    }

    /// Takes in what a claim brought.
    pub(super) fn claimed(&mut self, claim: Claim) {
        self.claiming = None;
        let Claim { asked, asked_for, quarantine, answer } = claim;
        let leases = match answer {
            Ok(leases) => leases,
            Err(error) => {
                self.shared.control.board.failed(HostLoop::Pump, &error);
                self.claim_at = Instant::now() + self.pause.next();
                self.failed.get_or_insert(error);
                return;
            }
        };
        self.shared.control.board.well(HostLoop::Pump);
        self.pause.reset();
        let mut found: HashMap<String, Found> = HashMap::new();
        let (now, mut quarantined) = (Instant::now(), 0);
        for mut lease in leases {
            let of_lease = self.take_in(&mut lease, asked, now);
            match lease.quarantined {
                true => quarantined += of_lease.deliveries,
                false => *found.entry(lease.handler_key).or_default() += of_lease,
            }
        }
        self.quarantine.leased(quarantine, quarantined);
        let count = found.values().map(|found| found.deliveries).sum::<usize>() + quarantined;
        self.leased += count as u64;
        self.plan_poll(count > 0, now);
        let mut more = Vec::new();
        for (at, Wanted { handler_key, limit, terms, .. }) in asked_for {
            let queue = &mut self.buffer.queues[at];
            queue.asked(1);
            let found = found.get(&handler_key);
            if found.is_some_and(|found| queue.found(terms.runs, limit, *found)) {
                more.push(at);
            }
        }
        // Where the last one filled its limits there may be more; so after news that came while the
        // claim was under way. Of quarantined ones there may be more when these are settled.
        for at in more {
            self.buffer.queues[at].news();
        }
        if self.news {
            self.buffer.news();
        }
    }

    /// Takes in what a lease holds, and answers how much that is.
    fn take_in(&mut self, lease: &mut Lease, asked: Instant, now: Instant) -> Found {
        let held = HeldLease::new(lease, asked);
        let (runs, found) = runs(lease);
        self.shared.leases.hold(held.clone(), found.deliveries, asked);
        // Nobody asked for these. A run goes back as a whole: what is behind one must not begin before it.
        let unserved = lease.deliveries.iter().zip(&runs).filter_map(|(delivery, run)| {
            let is_served = self.buffer.queue_of(&delivery.handler_key).is_some();
            run.as_ref().filter(|_| !is_served).map(LaneRun::id)
        });
        let unserved: HashSet<_> = unserved.collect();
        for (delivery, run) in std::mem::take(&mut lease.deliveries).into_iter().zip(runs) {
            let attempt = Attempt::leased(delivery, held.clone());
            let attempt = match run {
                Some(run) => attempt.in_run(run),
                None => attempt,
            };
            let unwanted = match attempt.run().is_some_and(|run| unserved.contains(&run.id())) {
                true => Some(attempt),
                false => self.buffer.push(attempt, now),
            };
            self.give_back(unwanted);
        }
        for Unreadable { message_id, reason } in std::mem::take(&mut lease.unreadable) {
            self.unsettled.push(Decided::unreadable(&held, message_id, reason));
        }
        found
    }

    /// When the store is asked without any news: soon after something was found, later and later
    /// while nothing is. Where the bell rings for other processes too, only to be sure.
    fn plan_poll(&mut self, has_found: bool, now: Instant) {
        let longest = self.shared.options().poll_interval;
        self.poll = match (self.shared.hears_everything(), has_found) {
            (true, _) => longest,
            (false, true) => SHORTEST_POLL.min(longest),
            (false, false) => (self.poll * 2).min(longest),
        };
        let poll_at = now + self.poll.mul_f64(0.9 + fastrand::f64() / 10.0);
        // What was planned is not put off, or a busy host would never come to it.
        self.poll_at = if self.poll_at > now { self.poll_at.min(poll_at) } else { poll_at };
    }
}

/// The priority that a claim begins with: now and then one of the lower ones, in turn, so that however much
/// of the more urgent there is, none starves.
fn first(claims: u64, share: Option<NonZeroU32>) -> Option<Priority> {
    const LOWER: [Priority; 3] = [Priority::Low, Priority::Normal, Priority::High];
    let share = u64::from(share?.get());
    let turn = usize::try_from(claims / share % 3).unwrap_or_default();
    (claims + 1).is_multiple_of(share).then(|| LOWER[turn])
}

impl<S: Store> Inbox<S> {
    /// A claim took so long that nobody here knows how much of its leases is left: they are renewed
    /// before anything is begun under them. Dropped meanwhile, they are given back.
    async fn renewed_first(
        &self,
        mut leases: Vec<Lease>,
        duration: Duration,
    ) -> (Instant, Result<Vec<Lease>, StoreError>) {
        let (asked, now) = (Instant::now(), self.scheduler().clock().now());
        if leases.is_empty() {
            return (asked, Ok(leases));
        }
        let tokens: Vec<_> = leases.iter().map(|lease| lease.token).collect();
        let mut unheld = Unheld { inbox: self, tokens: tokens.clone() };
        let renewed = match self.port().renew(tokens, duration, now).await {
            Ok(renewed) => renewed,
            Err(error) => return (asked, Err(error)),
        };
        unheld.tokens.clear();
        let mut renewed = renewed.into_iter();
        leases.retain_mut(|lease| match renewed.next() {
            Some(Ok(renewed)) => {
                lease.expires_at = renewed.expires_at;
                true
            }
            Some(Err(_)) | None => false,
        });
        (asked, Ok(leases))
    }
}

/// Leases that nobody keeps yet.
struct Unheld<'a, S: Store> {
    inbox: &'a Inbox<S>,
    tokens: Vec<LeaseToken>,
}

impl<S: Store> Drop for Unheld<'_, S> {
    fn drop(&mut self) {
        let now = self.inbox.scheduler().clock().now();
        self.inbox.port().abandon(std::mem::take(&mut self.tokens), now);
    }
}

/// Where nobody rings for other processes.
pub(super) const SHORTEST_POLL: Duration = Duration::from_millis(25);
