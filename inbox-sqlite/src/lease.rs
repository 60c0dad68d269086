use std::time::Duration;

use inbox_core::message::Delivery;
use inbox_core::message::MessageId;
use inbox_core::store::{
    AfterDead, Bell, Lease, LeaseLost, LeaseRequest, LeaseStore, LeaseToken, Listening, Renewed,
    StoreFuture, Unreadable, Wanted,
};
use inbox_core::{Now, Timestamp};
use rusqlite::{Connection, Result, params};

use crate::SqliteStore;
use crate::connection::Place;
use crate::release::Claimed;
use crate::room::Room;
use crate::row::{blob, message_id};
use crate::sql::sql;
use crate::suspect::take_suspect;
use crate::taken::{self, Taken, take};
use crate::wake::listen;

impl LeaseStore for SqliteStore {
    fn lease(&self, request: LeaseRequest, now: Now) -> StoreFuture<'_, Vec<Lease>> {
        let (calls, bell) = (self.calls().downgrade(), self.the_bell().clone());
        Box::pin(async move {
            let claim = move |connection: &Connection| {
                let leases = lease(connection, &request, now.or_else(Timestamp::now))?;
                Ok(Claimed::new(leases, calls.clone(), bell.clone()))
            };
            self.write(claim).await.map(Claimed::keep)
        })
    }

    fn renew(
        &self,
        tokens: Vec<LeaseToken>,
        duration: Duration,
        now: Now,
    ) -> StoreFuture<'_, Vec<std::result::Result<Renewed, LeaseLost>>> {
        Box::pin(self.write(move |connection| {
            let now = now.or_else(Timestamp::now);
            let expires_at = now.saturating_add(duration);
            let mut renew = connection.prepare_cached(sql!("renew"))?;
            let renewed = tokens.iter().map(|token| {
                let parameters =
                    params![blob(token.as_u128()), expires_at.as_micros(), now.as_micros()];
                let renewed =
                    renew.query_map(parameters, |row| Ok((message_id(row, 0)?, row.get(1)?)))?;
                // To its end: a statement that returns rows has done its work only then.
                let renewed = renewed.collect::<Result<Vec<(MessageId, bool)>>>()?;
                if renewed.is_empty() {
                    return Ok(Err(LeaseLost(*token)));
                }
                let cancelled = renewed.into_iter().filter(|(_, cancel)| *cancel);
                let cancelled = cancelled.map(|(id, _)| id).collect();
                Ok(Ok(Renewed { expires_at, cancelled }))
            });
            renewed.collect()
        }))
    }

    fn bell(&self) -> Option<&Bell> {
        Some(self.the_bell())
    }

    fn listen(&self) -> Option<StoreFuture<'_, Listening>> {
        match self.place() {
            Place::File(_) => Some(Box::pin(listen(self))),
            // Nobody else can get at memory.
            Place::Memory => None,
        }
    }
}

fn lease(connection: &Connection, request: &LeaseRequest, now: Timestamp) -> Result<Vec<Lease>> {
    let claim = Claim { connection, request, now };
    let mut leases = Vec::new();
    let mut suspect = None;
    if !claim.holds_suspect()? {
        suspect = take_suspect(connection, request)?;
    }
    if let Some((wanted, row)) = &suspect {
        leases.extend(claim.hold(wanted, &Room::of(connection, wanted)?, row, true)?);
    }
    for wanted in &request.wanted {
        let mut room = Room::of(connection, wanted)?;
        let has_suspect = suspect.as_ref().is_some_and(|(of, _)| std::ptr::eq(*of, wanted));
        let limit = room.of_fleet(wanted.limit.get() - u32::from(has_suspect))?;
        for row in take(connection, request, wanted, &mut room, limit)? {
            leases.extend(claim.hold(wanted, &room, &row, false)?);
        }
    }
    Ok(leases)
}

/// One call of `lease`.
struct Claim<'a> {
    connection: &'a Connection,
    request: &'a LeaseRequest,
    now: Timestamp,
}

impl Claim<'_> {
    fn holds_suspect(&self) -> Result<bool> {
        let mut select = self.connection.prepare_cached(sql!("lease_holds_suspect"))?;
        select.query_row(params![self.request.host, self.now.as_micros()], |row| row.get(0))
    }

    /// Puts a row that left `ready` under a lease. Nothing, if another one is the head of its lane: then it
    /// goes back behind.
    fn hold(
        &self,
        wanted: &Wanted,
        room: &Room<'_>,
        row: &Taken,
        suspect: bool,
    ) -> Result<Option<Lease>> {
        if let Some(lane) = &row.lane
            && !lane.enter(self.connection, row.message_id, &row.handler_key, self.now)?
        {
            row.go_back(self.connection, suspect)?;
            return Ok(None);
        }
        let token = LeaseToken::new();
        let attempt = row.attempts.saturating_add(1);
        let expires_at = self.now.saturating_add(self.request.duration);
        let is_limited = room.is_limited(row.concurrency_key.as_deref());
        self.connection.prepare_cached(sql!("lease_hold"))?.execute(params![
            blob(token.as_u128()),
            self.request.host,
            row.handler_key,
            blob(row.message_id.as_u128()),
            row.version,
            row.priority,
            attempt,
            row.delayed_retries,
            suspect,
            wanted.max_attempts,
            self.now.as_micros(),
            expires_at.as_micros(),
            room.first_key,
            row.tenant,
            row.concurrency_key,
            wanted.terms.after_dead == AfterDead::Block,
            row.lane.is_some() || is_limited,
        ])?;
        let mut lease = Lease {
            token,
            handler_key: row.handler_key.clone(),
            suspect,
            leased_at: self.now,
            expires_at,
            deliveries: Vec::new(),
            unreadable: Vec::new(),
        };
        match taken::message(self.connection, row.message_id)? {
            Ok(stored) => lease.deliveries.push(Delivery {
                message: stored.message,
                accepted_at: stored.accepted_at,
                handler_key: row.handler_key.clone(),
                attempt,
                delayed_retries: row.delayed_retries,
            }),
            Err(reason) => {
                lease.unreadable.push(Unreadable { message_id: row.message_id, reason });
            }
        }
        Ok(Some(lease))
    }
}
