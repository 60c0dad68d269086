use std::time::Duration;

use inbox_core::dispatch::Delivery;
use inbox_core::store::{
    Lease, LeaseLost, LeaseRequest, LeaseStore, LeaseToken, StoreFuture, Unreadable, Wanted,
};
use inbox_core::{Now, Timestamp};
use rusqlite::{Connection, Result, params};

use crate::SqliteStore;
use crate::release::Claimed;
use crate::row::blob;
use crate::sql::sql;
use crate::taken::{self, Taken, take};

impl LeaseStore for SqliteStore {
    fn lease(&self, request: LeaseRequest, now: Now) -> StoreFuture<'_, Vec<Lease>> {
        let calls = self.calls().downgrade();
        Box::pin(async move {
            let claim = move |connection: &Connection| {
                let leases = lease(connection, &request, now.or_else(Timestamp::now))?;
                Ok(Claimed::new(leases, calls))
            };
            self.write(claim).await.map(Claimed::keep)
        })
    }

    fn renew(
        &self,
        tokens: Vec<LeaseToken>,
        duration: Duration,
        now: Now,
    ) -> StoreFuture<'_, Vec<std::result::Result<Timestamp, LeaseLost>>> {
        Box::pin(self.write(move |connection| {
            let now = now.or_else(Timestamp::now);
            let until = now.saturating_add(duration);
            let mut renew = connection.prepare_cached(sql!("renew"))?;
            let renewed = tokens.iter().map(|token| {
                let token_blob = blob(token.as_u128());
                match renew.execute(params![token_blob, until.as_micros(), now.as_micros()])? {
                    0 => Ok(Err(LeaseLost(*token))),
                    _ => Ok(Ok(until)),
                }
            });
            renewed.collect()
        }))
    }
}

fn lease(connection: &Connection, request: &LeaseRequest, now: Timestamp) -> Result<Vec<Lease>> {
    let mut leases = Vec::new();
    let mut holds_suspect: bool = connection
        .prepare_cached(sql!("lease_holds_suspect"))?
        .query_row(params![request.host, now.as_micros()], |row| row.get(0))?;
    for wanted in &request.wanted {
        let mut room = wanted.limit.get();
        if !holds_suspect {
            let suspect = take(connection, wanted, true, 1)?;
            holds_suspect = !suspect.is_empty();
            room -= u32::from(holds_suspect && room > 0);
            hold(connection, request, wanted, suspect, true, now, &mut leases)?;
        }
        let others = take(connection, wanted, false, room)?;
        hold(connection, request, wanted, others, false, now, &mut leases)?;
    }
    Ok(leases)
}

fn hold(
    connection: &Connection,
    request: &LeaseRequest,
    wanted: &Wanted,
    rows: Vec<Taken>,
    suspect: bool,
    now: Timestamp,
    leases: &mut Vec<Lease>,
) -> Result<()> {
    let expires_at = now.saturating_add(request.duration);
    for row in rows {
        let token = LeaseToken::new();
        let attempt = row.attempts.saturating_add(1);
        connection.prepare_cached(sql!("lease_hold"))?.execute(params![
            blob(token.as_u128()),
            request.host,
            wanted.handler_key,
            blob(row.message_id.as_u128()),
            row.version,
            row.priority,
            attempt,
            row.delayed_retries,
            suspect,
            wanted.max_attempts,
            now.as_micros(),
            expires_at.as_micros(),
        ])?;
        let handler_key = wanted.handler_key.clone();
        let mut lease = Lease {
            token,
            handler_key: handler_key.clone(),
            leased_at: now,
            expires_at,
            deliveries: Vec::new(),
            unreadable: Vec::new(),
        };
        match taken::message(connection, row.message_id)? {
            Ok(stored) => lease.deliveries.push(Delivery {
                message: stored.message,
                accepted_at: stored.accepted_at,
                handler_key,
                attempt,
                delayed_retries: row.delayed_retries,
            }),
            Err(reason) => {
                lease.unreadable.push(Unreadable { message_id: row.message_id, reason });
            }
        }
        leases.push(lease);
    }
    Ok(())
}
