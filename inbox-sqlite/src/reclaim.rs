use inbox_core::Timestamp;
use inbox_core::settle::{DeadReason, DoneOutcome, ErrorReport};
use inbox_core::store::{DeliveryState, Reclaimed, ReclaimedDelivery};
use rusqlite::{Connection, Result};

use crate::held::{Held, LeaseRow};
use crate::lanes::hand_on;

/// Takes deliveries from workers that vanished, at most so many.
pub(crate) fn reclaim(connection: &Connection, limit: u32, now: Timestamp) -> Result<Reclaimed> {
    let (mut reclaimed, mut left) = (Reclaimed::default(), limit);
    for lease in LeaseRow::expired(connection, limit, now)? {
        for held in lease.reclaim(connection, left)? {
            reclaimed.deliveries.push(lose(connection, &lease, held, now)?);
            left = left.saturating_sub(1);
        }
        lease.end(connection)?;
    }
    Ok(reclaimed)
}

/// Moves one of them to where it goes next. Its attempt is recorded, and not counted.
fn lose(
    connection: &Connection,
    lease: &LeaseRow,
    Held { mut delivery, cancelled }: Held,
    now: Timestamp,
) -> Result<ReclaimedDelivery> {
    let error = ErrorReport::lease_expired();
    lease.record(connection, &delivery, &error, now)?;
    delivery.attempts = delivery.attempts.saturating_sub(1);
    delivery.crashes = delivery.crashes.saturating_add(1);
    let state = if cancelled {
        lease.done(connection, &delivery, DoneOutcome::Cancelled, now)?;
        DeliveryState::Cancelled
    } else if gives_up(lease, delivery.crashes) {
        delivery.to_dead(connection, DeadReason::LeaseExpired, &error, now)?;
        if !lease.blocks {
            hand_on(connection, delivery.id(), &delivery.handler_key, now)?;
        }
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
