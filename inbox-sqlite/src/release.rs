use inbox_core::store::{Bell, DeliveryState, Lease, LeaseToken};
use inbox_core::{Now, Timestamp};
use rusqlite::{Connection, Result};
use tokio::sync::mpsc;

use crate::call::Unattended;
use crate::held::LeaseRow;
use crate::lanes::Touched;
use crate::thread::{Calls, Task};
use crate::wake::Turns;

/// Gives up leases without counting the attempts. Answers how many deliveries are ready again; also of a
/// delivery that is not, others may have waited for the end.
pub(crate) fn release(
    connection: &Connection,
    tokens: &[LeaseToken],
    now: Now,
) -> Result<Turns<u64>> {
    let now = now.or_else(Timestamp::now);
    let (mut released, mut lanes) = (Turns { answer: 0, freed: false }, Touched::default());
    for token in tokens {
        let Some(lease) = LeaseRow::find(connection, *token)? else { continue };
        for held in lease.take_all(connection, None)? {
            lanes.by(&held.delivery);
            let state = lease.give_back(connection, held, now)?;
            released.answer += u64::from(state == DeliveryState::Pending);
            released.freed = true;
        }
        lease.end(connection)?;
    }
    lanes.hand_on(connection, now)?;
    Ok(released)
}

/// The same, as soon as the thread gets to it, for someone who cannot wait.
pub(crate) fn abandon(calls: &Calls, bell: &Bell, tokens: Vec<LeaseToken>, now: Now) {
    if tokens.is_empty() {
        return;
    }
    let code = move |connection: &Connection| release(connection, &tokens, now).map(drop);
    let work = Unattended { code, bell: bell.clone() };
    if calls.try_send(Task::Call(Box::new(work))).is_err() {
        tracing::debug!("leases that nobody waits for will expire");
    }
}

/// Leases on their way to a worker. Dropped before they get there, they are released: nobody would
/// work on them until they expire.
pub(crate) struct Claimed {
    leases: Vec<Lease>,
    calls: mpsc::WeakSender<Task>,
    bell: Bell,
}

impl Claimed {
    pub(crate) fn new(leases: Vec<Lease>, calls: mpsc::WeakSender<Task>, bell: Bell) -> Self {
        Self { leases, calls, bell }
    }

    pub(crate) fn keep(mut self) -> Vec<Lease> {
        std::mem::take(&mut self.leases)
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        let tokens = self.leases.iter().map(|lease| lease.token).collect();
        let (Some(calls), Some(first)) = (self.calls.upgrade(), self.leases.first()) else {
            return;
        };
        // By the clock they were claimed at: it may be a test's.
        abandon(&calls, &self.bell, tokens, Now::At(first.leased_at));
    }
}
