use inbox_core::settle::DoneOutcome;
use inbox_core::store::{Bell, DeliveryState, Lease, LeaseToken};
use inbox_core::{Now, Timestamp};
use rusqlite::{Connection, Result, params};
use tokio::sync::mpsc;

use crate::call::Unattended;
use crate::held::Held;
use crate::row::blob;
use crate::sql::sql;
use crate::thread::{Calls, Task};

/// Gives up leases without counting the attempt.
pub(crate) fn release(connection: &Connection, tokens: &[LeaseToken], now: Now) -> Result<u64> {
    let now = now.or_else(Timestamp::now);
    let mut released = 0;
    for token in tokens {
        let mut take = connection.prepare_cached(sql!("release_take"))?;
        let held = take.query_map(params![blob(token.as_u128())], Held::read)?;
        for held in held.collect::<Result<Vec<_>>>()? {
            let state = give_back(connection, held, now)?;
            released += u64::from(state == DeliveryState::Pending);
        }
    }
    Ok(released)
}

/// Returns a delivery as it came, unless someone wants no other attempt. Answers its state.
pub(crate) fn give_back(
    connection: &Connection,
    mut held: Held,
    now: Timestamp,
) -> Result<DeliveryState> {
    held.attempt = held.attempt.saturating_sub(1);
    if held.cancelled {
        held.done(connection, DoneOutcome::Cancelled, now)?;
        return Ok(DeliveryState::Cancelled);
    }
    held.return_ready(connection, held.attempt, held.suspect)?;
    Ok(DeliveryState::Pending)
}

/// The same, as soon as the thread gets to it, for someone who cannot wait.
pub(crate) fn abandon(calls: &Calls, bell: &Bell, tokens: Vec<LeaseToken>, now: Now) {
    if tokens.is_empty() {
        return;
    }
    let code = move |connection: &Connection| release(connection, &tokens, now);
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
