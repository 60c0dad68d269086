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
        let mut runs = BTreeSet::new();
        for held in lease.reclaim(connection, left)? {
            lanes.by(&held.delivery);
            let had_begun = match held.delivery.lane() {
                // Of a run the worker begins each when the one before has ended.
                Some(run) => !lease.holds(connection, &run)? && runs.insert(run),
                None => true,
            };
            reclaimed.deliveries.push(lose(connection, &lease, held, had_begun, now)?);
            left = left.saturating_sub(1);
        }
        lease.end(connection)?;
    }
    lanes.hand_on(connection, now)?;
    Ok(reclaimed)
}

/// Moves one of them to where it goes next. Its attempt is not counted; one that had begun is recorded, and accused.
fn lose(
    connection: &Connection,
    lease: &LeaseRow,
    Held { mut delivery, cancelled }: Held,
    had_begun: bool,
    now: Timestamp,
) -> Result<ReclaimedDelivery> {
    let error = ErrorReport::lease_expired();
    if had_begun {
        lease.record(connection, &delivery, &error, now)?;
        delivery.crashes = delivery.crashes.saturating_add(1);
    }
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
