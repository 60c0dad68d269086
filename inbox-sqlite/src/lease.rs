use std::result::Result as StdResult;
use std::time::Duration;

use inbox_core::store::{
    Bell, Lease, LeaseLost, LeaseRequest, LeaseStore, LeaseToken, Listening, Renewed, StoreFuture,
};
use inbox_core::{Now, Timestamp};
use rusqlite::{Connection, Result, params};

use crate::SqliteStore;
use crate::claim::claim;
use crate::connection::Place;
use crate::release::Claimed;
use crate::row::{blob, message_id};
use crate::sql::sql;
use crate::wake::listen;

impl LeaseStore for SqliteStore {
    fn lease(&self, request: LeaseRequest, now: Now) -> StoreFuture<'_, Vec<Lease>> {
        let (calls, bell) = (self.calls().downgrade(), self.the_bell().clone());
        Box::pin(async move {
            let claiming = move |connection: &Connection| {
                let leases = claim(connection, &request, now.or_else(Timestamp::now))?;
                Ok(Claimed::new(leases, calls.clone(), bell.clone()))
            };
            self.write(claiming).await.map(Claimed::keep)
        })
    }

    fn renew(
        &self,
        tokens: Vec<LeaseToken>,
        duration: Duration,
        now: Now,
    ) -> StoreFuture<'_, Vec<StdResult<Renewed, LeaseLost>>> {
        Box::pin(self.write(move |connection| {
            let expires_at = now.or_else(Timestamp::now).saturating_add(duration);
            tokens.iter().map(|token| renew(connection, *token, expires_at)).collect()
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

fn renew(
    connection: &Connection,
    token: LeaseToken,
    expires_at: Timestamp,
) -> Result<StdResult<Renewed, LeaseLost>> {
    let key = blob(token.as_u128());
    let mut renew = connection.prepare_cached(sql!("renew"))?;
    if renew.execute(params![key, expires_at.as_micros()])? == 0 {
        return Ok(Err(LeaseLost(token)));
    }
    let mut cancelled = connection.prepare_cached(sql!("renew_cancelled"))?;
    let cancelled = cancelled.query_map([key], |row| message_id(row, 0))?;
    Ok(Ok(Renewed { expires_at, cancelled: cancelled.collect::<Result<_>>()? }))
}
