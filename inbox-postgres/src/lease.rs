use std::cmp::Reverse;
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

/// Reads what `lease.sql` answers, in no order: the most urgent first, then the oldest.
pub(crate) fn read(
    token: LeaseToken,
    suspect: bool,
    mut rows: Vec<Row>,
) -> Result<Vec<Lease>, StoreError> {
    let Some(first) = rows.first() else { return Ok(Vec::new()) };
    let mut lease = Lease {
        token,
        handler_key: column(first, 7).map_err(damaged)?,
        suspect,
        leased_at: timestamp(first, 0).map_err(damaged)?,
        expires_at: timestamp(first, 1).map_err(damaged)?,
        deliveries: Vec::new(),
        unreadable: Vec::new(),
    };
    rows.sort_by_cached_key(|row| (column::<i16>(row, 3).map(Reverse), column::<i64>(row, 2)));
    for row in &rows {
        let id = message_id(row, 4).map_err(damaged)?;
        match delivery(row, &lease.handler_key) {
            Ok(delivery) => lease.deliveries.push(delivery),
            Err(reason) => lease.unreadable.push(Unreadable { message_id: id, reason }),
        }
    }
    Ok(vec![lease])
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
