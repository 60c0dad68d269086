use std::collections::BTreeSet;

use inbox_core::Timestamp;
use inbox_core::settle::{DeadReason, DoneOutcome, ErrorReport};
use inbox_core::store::{DeliveryState, Reclaimed, ReclaimedDelivery};
use rusqlite::{Connection, Result};

use crate::held::{Held, LeaseRow};
use crate::lanes::Touched;

/// Takes deliveries from workers that vanished, at most so many.
pub(crate) fn reclaim(connection: &Connection, limit: u32, now: Timestamp) -> Result<Reclaimed> {
    let (mut reclaimed, mut left) = (Reclaimed::default(), limit);
    let mut lanes = Touched::default();
    for lease in LeaseRow::expired(connection, limit, now)? {
        let (mut runs, taken) = (BTreeSet::new(), lease.reclaim(connection, left)?);
        let crashed = taken.iter().filter(|held| held.delivery.crashes > 0);
        let crashed: BTreeSet<_> = crashed.filter_map(|held| held.delivery.lane()).collect();
        for held in taken {
            lanes.by(&held.delivery);
            let vanished = match held.delivery.lane() {
                Some(run) => {
                    let rest = lease.has_crashed(connection, &run)?;
                    let was_careful = rest == Some(true) || crashed.contains(&run);
                    let is_first = rest.is_none() && runs.insert(run);
                    Vanished { is_first, is_accused: is_first || !was_careful }
                }
                None => Vanished { is_first: true, is_accused: true },
            };
            reclaimed.deliveries.push(lose(connection, &lease, held, vanished, now)?);
            left = left.saturating_sub(1);
        }
        lease.end(connection)?;
    }
    lanes.hand_on(connection, now)?;
    Ok(reclaimed)
}

/// What a worker that vanished leaves to say of a delivery.
///
/// Of a run in which one had a crash before, each began when the one before was settled: so the first that is held
/// had begun. Of another run, nobody knows how many had.
#[derive(Clone, Copy)]
struct Vanished {
    is_first: bool,
    is_accused: bool,
}

/// Moves one of them to where it goes next. Its attempt is not counted.
fn lose(
    connection: &Connection,
    lease: &LeaseRow,
    Held { mut delivery, cancelled }: Held,
    vanished: Vanished,
    now: Timestamp,
) -> Result<ReclaimedDelivery> {
    let error = ErrorReport::lease_expired();
    if vanished.is_first {
        lease.record(connection, &delivery, &error, now)?;
    }
    delivery.crashes = delivery.crashes.saturating_add(u32::from(vanished.is_accused));
    delivery.attempts = delivery.attempts.saturating_sub(1);
    let state = if cancelled {
        lease.done(connection, &delivery, DoneOutcome::Cancelled, now)?;
        DeliveryState::Cancelled
    } else if gives_up(lease, delivery.crashes) {
        delivery.to_dead(connection, lease.blocks, DeadReason::LeaseExpired, &error, now)?;
        DeliveryState::Dead
    } else {
        delivery.to_ready(connection)?;
        DeliveryState::Pending
    };
    Ok(ReclaimedDelivery {
        message_id: delivery.message_id,
        handler_key: delivery.handler_key,
        host: lease.host.clone(),
        attempts: delivery.attempts,
        crashes: delivery.crashes,
        state,
    })
}

/// Whether so many vanished workers are too many. The first two accuse nobody, and a neighbour may be to blame:
/// so the last of them must have held the delivery alone.
fn gives_up(lease: &LeaseRow, crashes: u32) -> bool {
    lease.quarantined && lease.alone && crashes.saturating_sub(2) >= lease.max_crashes
}
