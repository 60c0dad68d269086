use inbox_core::Timestamp;
use inbox_core::message::{Delivery, Shares};
use inbox_core::store::{Lease, LeaseRequest, LeaseToken, OnDead, Unreadable, Wanted};
use rusqlite::{Connection, Result, params};

use crate::look::look;
use crate::quarantine::look_at_quarantined;
use crate::ready::Ready;
use crate::room::Room;
use crate::row::blob;
use crate::run::{Taken, take_runs};
use crate::sql::sql;

/// Claims what a worker wants: one lease for the quarantined deliveries that it allows, and one for each key.
pub(crate) fn claim(
    connection: &Connection,
    request: &LeaseRequest,
    now: Timestamp,
) -> Result<Vec<Lease>> {
    let claim = Claim { connection, request, now };
    let mut leases = Vec::new();
    if let Some(most) = request.quarantine
        && let Some((wanted, room, found)) = look_at_quarantined(connection, request, most.get())?
    {
        leases.extend(claim.hold(wanted, &room, found, true)?);
    }
    for wanted in &request.wanted {
        let mut room = Room::of(connection, wanted)?;
        let found = look(connection, request, wanted, &mut room)?;
        leases.extend(claim.hold(wanted, &room, found, false)?);
    }
    Ok(leases)
}

/// One claim.
struct Claim<'a> {
    connection: &'a Connection,
    request: &'a LeaseRequest,
    now: Timestamp,
}

impl Claim<'_> {
    /// Puts what was found, and the runs that it begins, under one lease; nothing, if there are none.
    fn hold(
        &self,
        wanted: &Wanted,
        room: &Room<'_>,
        found: Vec<Ready>,
        quarantined: bool,
    ) -> Result<Option<Lease>> {
        let taken = take_runs(self.connection, self.request, wanted, found, self.now)?;
        if taken.is_empty() {
            return Ok(None);
        }
        let mut lease = self.begin(wanted, quarantined, taken.len() == 1)?;
        for one in taken {
            self.add(&mut lease, room, one)?;
        }
        Ok(Some(lease))
    }

    fn begin(&self, wanted: &Wanted, quarantined: bool, alone: bool) -> Result<Lease> {
        let token = LeaseToken::new();
        let expires_at = self.now.saturating_add(self.request.duration);
        self.connection.prepare_cached(sql!("lease_begin"))?.execute(params![
            blob(token.as_u128()),
            self.request.host,
            wanted.handler_key,
            wanted.max_crashes,
            wanted.terms.on_dead == OnDead::Block,
            quarantined,
            alone,
            self.now.as_micros(),
            expires_at.as_micros(),
        ])?;
        Ok(Lease {
            token,
            handler_key: wanted.handler_key.clone(),
            quarantined,
            leased_at: self.now,
            expires_at,
            permits: None,
            deliveries: Vec::new(),
            unreadable: Vec::new(),
        })
    }

    /// (ready) → held.
    fn add(&self, lease: &mut Lease, room: &Room<'_>, taken: Taken) -> Result<()> {
        let Taken { ready: Ready { delivery, .. }, stored } = taken;
        let (message_id, attempt) = (delivery.message_id, delivery.attempts.saturating_add(1));
        let shares = Shares {
            lane: delivery.ordering_key.is_some(),
            limit: room.is_limited(delivery.concurrency_key.as_deref()),
        };
        self.connection.prepare_cached(sql!("lease_hold"))?.execute(params![
            blob(lease.token.as_u128()),
            delivery.id(),
            delivery.handler_key,
            delivery.version,
            delivery.priority,
            attempt,
            delivery.crashes,
            delivery.carry,
            delivery.tenant,
            room.first_key,
            delivery.ordering_key,
            delivery.concurrency_key,
            delivery.position,
        ])?;
        match stored {
            Ok((stored, carry)) => lease.deliveries.push(Delivery {
                message: stored.message,
                accepted_at: stored.accepted_at,
                handler_key: delivery.handler_key,
                attempt,
                crashes: delivery.crashes,
                carry,
                shares,
            }),
            Err(reason) => lease.unreadable.push(Unreadable { message_id, reason }),
        }
        Ok(())
    }
}
