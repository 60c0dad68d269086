use std::result::Result as StdResult;

use inbox_core::Timestamp;
use inbox_core::message::{Carry, Delivery, MessageId};
use inbox_core::store::{
    AfterDead, Lease, LeaseRequest, LeaseToken, StoredMessage, Unreadable, Wanted,
};
use rusqlite::{Connection, OptionalExtension as _, Result, params};

use crate::look::{Taken, take_quarantined, take_wanted};
use crate::room::Room;
use crate::row::{blob, stored_message};
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
        && let Some((wanted, room, taken)) = take_quarantined(connection, request, most.get())?
    {
        leases.extend(claim.hold(wanted, &room, taken, true)?);
    }
    for wanted in &request.wanted {
        let mut room = Room::of(connection, wanted)?;
        let limit = room.of_fleet(wanted.limit.get())?;
        let taken = take_wanted(connection, request, wanted, &mut room, limit)?;
        leases.extend(claim.hold(wanted, &room, taken, false)?);
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
    /// Puts rows that left `ready` under one lease; nothing, if there are none. A row goes back behind if
    /// another delivery is the head of its lane.
    fn hold(
        &self,
        wanted: &Wanted,
        room: &Room<'_>,
        taken: Vec<Taken>,
        quarantined: bool,
    ) -> Result<Option<Lease>> {
        let mut entered = Vec::new();
        for row in taken {
            match &row.lane {
                Some(lane) if !lane.enter(self.connection, &row.delivery, self.now)? => {
                    row.delivery.to_ready(self.connection)?;
                }
                _ => entered.push(row),
            }
        }
        if entered.is_empty() {
            return Ok(None);
        }
        let mut lease = self.begin(wanted, quarantined, entered.len() == 1)?;
        for row in entered {
            self.add(&mut lease, room, row)?;
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
            wanted.terms.after_dead == AfterDead::Block,
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
            deliveries: Vec::new(),
            unreadable: Vec::new(),
        })
    }

    /// (ready) → held.
    fn add(&self, lease: &mut Lease, room: &Room<'_>, row: Taken) -> Result<()> {
        let Taken { delivery, tenant, lane, concurrency_key } = row;
        let (message_id, attempt) = (delivery.message_id, delivery.attempts.saturating_add(1));
        let shares = lane.is_some() || room.is_limited(concurrency_key.as_deref());
        self.connection.prepare_cached(sql!("lease_hold"))?.execute(params![
            blob(lease.token.as_u128()),
            delivery.id(),
            delivery.handler_key,
            delivery.version,
            delivery.priority,
            attempt,
            delivery.crashes,
            delivery.carry,
            room.first_key,
            tenant,
            concurrency_key,
        ])?;
        let read = message(self.connection, message_id)?.and_then(|stored| {
            let carry = Carry::from_json(delivery.carry.as_deref());
            let unreadable =
                |error| format!("the carry of message {message_id} cannot be read: {error}");
            Ok((stored, carry.map_err(unreadable)?))
        });
        match read {
            Ok((stored, carry)) => lease.deliveries.push(Delivery {
                message: stored.message,
                accepted_at: stored.accepted_at,
                handler_key: delivery.handler_key,
                attempt,
                carry,
                shares,
            }),
            Err(reason) => lease.unreadable.push(Unreadable { message_id, reason }),
        }
        Ok(())
    }
}

/// The message, or what is wrong with its row. A damaged row must not keep others from their turn.
fn message(connection: &Connection, id: MessageId) -> Result<StdResult<StoredMessage, String>> {
    let mut select = connection.prepare_cached(sql!("message"))?;
    match select.query_row([blob(id.as_u128())], stored_message).optional() {
        Ok(Some(stored)) => Ok(Ok(stored)),
        Ok(None) => Ok(Err(format!("message {id} is gone: its row was deleted"))),
        Err(error) if error.sqlite_error().is_some() => Err(error),
        Err(error) => Ok(Err(format!("the row of message {id} cannot be read: {error}"))),
    }
}
