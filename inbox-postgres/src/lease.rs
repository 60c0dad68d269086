use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

use inbox_core::Now;
use inbox_core::dispatch::Delivery;
use inbox_core::store::{
    Bell, Lease, LeaseLost, LeaseRequest, LeaseStore, LeaseToken, Listening, Renewed, Renewer,
    StoreError, StoreErrorKind, StoreFuture, Unreadable,
};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::PostgresStore;
use crate::claimed::Claimed;
use crate::renew::renew;
use crate::row::{column, count, message_id, stored_message, timestamp};
use crate::schedule::damaged;
use crate::wake::RenewerApart;

impl LeaseStore for PostgresStore {
    fn lease(&self, request: LeaseRequest, now: Now) -> StoreFuture<'_, Vec<Lease>> {
        Box::pin(async move {
            if request.wanted.is_empty() {
                return Ok(Vec::new());
            }
            // In a task of its own: what is claimed is either received or released.
            let store = self.clone();
            let claim = self
                .inner()
                .tasks
                .spawn(async move { store.in_time(store.claim(&request, now)).await });
            claim.await.unwrap_or_else(|_| Err(stopped())).map(Claimed::keep)
        })
    }

    fn renew(
        &self,
        tokens: Vec<LeaseToken>,
        duration: Duration,
        now: Now,
    ) -> StoreFuture<'_, Vec<Result<Renewed, LeaseLost>>> {
        Box::pin(async move {
            self.in_time(async {
                let mut working = self.connection().await?;
                let client = self.client(working.get()?);
                let answer = renew(self, client, &tokens, duration, now).await;
                working.done_with(&answer);
                answer
            })
            .await
        })
    }

    fn bell(&self) -> Option<&Bell> {
        Some(&self.inner().bell)
    }

    fn listen(&self) -> Option<StoreFuture<'_, Listening>> {
        let direct = self.inner().direct.as_ref()?;
        Some(Box::pin(self.listen_on(direct)))
    }

    fn renewer(&self) -> Option<Box<dyn Renewer>> {
        Some(Box::new(RenewerApart::new(self.clone())))
    }
}

fn stopped() -> StoreError {
    StoreError::new(StoreErrorKind::Closed, "the runtime is shutting down")
}

/// Where claims answer the token, and what became of the row.
const TOKEN: usize = 21;
pub(crate) const FATE: usize = 22;

/// Reads what `lease.sql` answers, in no order: the most urgent first, then the oldest.
pub(crate) fn read(suspect: bool, mut rows: Vec<Row>) -> Result<Vec<Lease>, StoreError> {
    rows.sort_by_cached_key(|row| (column::<i16>(row, 3).map(Reverse), column::<i64>(row, 2)));
    // By token, in the order in which they come.
    let (mut leases, mut places) = (Vec::<Lease>::new(), HashMap::new());
    for row in &rows {
        let token: Uuid = column(row, TOKEN).map_err(damaged)?;
        let place = *places.entry(token).or_insert(leases.len());
        if place == leases.len() {
            leases.push(begun(LeaseToken::from_u128(token.as_u128()), suspect, row)?);
        }
        let lease = &mut leases[place];
        let id = message_id(row, 4).map_err(damaged)?;
        match delivery(row, &lease.handler_key) {
            Ok(delivery) => lease.deliveries.push(delivery),
            Err(reason) => lease.unreadable.push(Unreadable { message_id: id, reason }),
        }
    }
    Ok(leases)
}

/// The lease that a row belongs to, still without its deliveries.
fn begun(token: LeaseToken, suspect: bool, row: &Row) -> Result<Lease, StoreError> {
    Ok(Lease {
        token,
        handler_key: column(row, 7).map_err(damaged)?,
        suspect,
        leased_at: timestamp(row, 0).map_err(damaged)?,
        expires_at: timestamp(row, 1).map_err(damaged)?,
        deliveries: Vec::new(),
        unreadable: Vec::new(),
    })
}

fn delivery(row: &Row, handler_key: &str) -> Result<Delivery, String> {
    let id = message_id(row, 4)?;
    if column::<Option<Uuid>>(row, 8)?.is_none() {
        return Err(format!("message {id} is gone: its row was deleted"));
    }
    let stored = stored_message(row, 8)
        .map_err(|error| format!("the row of message {id} cannot be read: {error}"))?;
    Ok(Delivery {
        message: stored.message,
        accepted_at: stored.accepted_at,
        handler_key: handler_key.to_owned(),
        attempt: count(row, 5)?,
        delayed_retries: count(row, 6)?,
    })
}
