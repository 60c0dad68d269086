use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::result::Result as StdResult;

use inbox_core::settle::{DoneOutcome, Settlement};
use inbox_core::store::{DeliveryState, LeaseLost, LeaseToken, Settle, StateStore, StoreFuture};
use inbox_core::{Now, Timestamp};
use rusqlite::{Connection, Result};

use crate::SqliteStore;
use crate::held::LeaseRow;
use crate::lanes::Touched;
use crate::release::{abandon, release};
use crate::wake::Turns;

impl StateStore for SqliteStore {
    fn settle(
        &self,
        settles: Vec<Settle>,
        now: Now,
    ) -> StoreFuture<'_, Vec<StdResult<DeliveryState, LeaseLost>>> {
        Box::pin(async move {
            let settled = self.write_and_ring(move |connection| {
                settle_all(connection, &settles, now.or_else(Timestamp::now))
            });
            Ok(settled.await?.answer)
        })
    }

    fn release(&self, tokens: Vec<LeaseToken>, now: Now) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let released = self.write_and_ring(move |connection| release(connection, &tokens, now));
            Ok(released.await?.answer)
        })
    }

    fn abandon(&self, tokens: Vec<LeaseToken>, now: Now) {
        abandon(self.calls(), self.the_bell(), tokens, now);
    }
}

fn settle_all(
    connection: &Connection,
    settles: &[Settle],
    now: Timestamp,
) -> Result<Turns<Vec<StdResult<DeliveryState, LeaseLost>>>> {
    let mut turns = Turns { answer: Vec::new(), freed: false };
    // What is settled together was often leased together.
    let (mut leases, mut lanes) = (HashMap::new(), Touched::default());
    for one in settles {
        let lease = match leases.entry(one.token) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(LeaseRow::find(connection, one.token)?),
        };
        let state = match lease {
            Some(lease) => settle(connection, lease, one, &mut lanes, now)?,
            None => None,
        };
        turns.freed |= state.is_some() && (one.shares.lane || one.shares.limit);
        turns.answer.push(state.ok_or(LeaseLost(one.token)));
    }
    for lease in leases.values().flatten() {
        lease.end(connection)?;
    }
    lanes.hand_on(connection, now)?;
    Ok(turns)
}

/// Nothing, and no trace of it, if the lease does not hold that delivery.
fn settle(
    connection: &Connection,
    lease: &LeaseRow,
    one: &Settle,
    lanes: &mut Touched,
    now: Timestamp,
) -> Result<Option<DeliveryState>> {
    let Some(mut held) = lease.take(connection, one.message_id)? else { return Ok(None) };
    lanes.by(&held.delivery);
    let delivery = &mut held.delivery;
    match &one.settlement {
        Settlement::Done(outcome) => lease.done(connection, delivery, *outcome, now)?,
        // Whoever cancelled it wants no other attempt, and no dead letter.
        Settlement::Retry { error, .. } | Settlement::Dead { error, .. } if held.cancelled => {
            lease.done(connection, delivery, DoneOutcome::Cancelled, now)?;
            lease.record(connection, delivery, error, now)?;
            return Ok(Some(DeliveryState::Cancelled));
        }
        Settlement::Retry { after, error } => {
            // Its worker reported back, which ends a row of crashes.
            (delivery.crashes, delivery.carry) = (0, one.carry.to_json());
            delivery.to_waiting(connection, now.saturating_add(*after), Some(error))?;
            lease.record(connection, delivery, error, now)?;
        }
        Settlement::Dead { reason, error } => {
            delivery.to_dead(connection, lease.blocks, *reason, error, now)?;
            lease.record(connection, delivery, error, now)?;
        }
        Settlement::Release => return lease.give_back(connection, held, now).map(Some),
    }
    Ok(Some(one.settlement.state()))
}
