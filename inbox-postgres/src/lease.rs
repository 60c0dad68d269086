use std::time::Duration;

use deadpool_postgres::Object;
use futures_util::future::try_join_all;
use inbox_core::dispatch::Delivery;
use inbox_core::store::{
    Lease, LeaseLost, LeaseRequest, LeaseStore, LeaseToken, StoreError, StoreErrorKind,
    StoreFuture, Unreadable, Wanted,
};
use inbox_core::{Now, Timestamp};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::PostgresStore;
use crate::claimed::Claimed;
use crate::error::is_unique_violation;
use crate::row::{column, count, message_id, stored_message, timestamp};
use crate::schedule::{damaged, moment};
use crate::sql::Sql;
use crate::value::Span;

impl LeaseStore for PostgresStore {
    fn lease(&self, request: LeaseRequest, now: Now) -> StoreFuture<'_, Vec<Lease>> {
        Box::pin(async move {
            if request.wanted.is_empty() {
                return Ok(Vec::new());
            }
            // In a task of its own: what is claimed is either received or released.
            let store = self.clone();
            let claim = self.inner().tasks.spawn(async move {
                let leases = store.in_time(store.claim(&request, now)).await?;
                Ok(Claimed::new(store.clone(), leases))
            });
            claim.await.unwrap_or_else(|_| Err(stopped())).map(Claimed::keep)
        })
    }

    fn renew(
        &self,
        tokens: Vec<LeaseToken>,
        duration: Duration,
        now: Now,
    ) -> StoreFuture<'_, Vec<Result<Timestamp, LeaseLost>>> {
        Box::pin(async move {
            let uuids: Vec<_> =
                tokens.iter().map(|token| Uuid::from_u128(token.as_u128())).collect();
            let span = Span(duration);
            let rows = self.query(Sql::renew, &[&moment(now), &uuids, &span]).await?;
            let mut renewed = std::collections::HashMap::new();
            for row in &rows {
                let token: Uuid = column(row, 0).map_err(damaged)?;
                renewed.insert(token.as_u128(), timestamp(row, 1).map_err(damaged)?);
            }
            let answer =
                |token: LeaseToken| renewed.get(&token.as_u128()).copied().ok_or(LeaseLost(token));
            Ok(tokens.into_iter().map(answer).collect())
        })
    }
}

fn stopped() -> StoreError {
    StoreError::new(StoreErrorKind::Closed, "the runtime is shutting down")
}

impl PostgresStore {
    async fn claim(&self, request: &LeaseRequest, now: Now) -> Result<Vec<Lease>, StoreError> {
        let connection = self.connection().await?;
        let suspect = self.claim_suspect(&connection, request, now).await?;
        let of_suspect = |wanted: &Wanted| {
            suspect.as_ref().is_some_and(|lease| lease.handler_key == wanted.handler_key)
        };
        // One statement for each key, all sent at once.
        let claims = request.wanted.iter().map(|wanted| {
            let limit = wanted.limit.get() - u32::from(of_suspect(wanted));
            self.claim_batch(&connection, request, wanted, limit, now)
        });
        let batches = try_join_all(claims).await;
        let mut leases: Vec<_> = suspect.into_iter().collect();
        match batches {
            Ok(batches) => leases.extend(batches.into_iter().flatten()),
            Err(error) => {
                // What was claimed before the error goes back.
                drop(Claimed::new(self.clone(), leases));
                return Err(error);
            }
        }
        Ok(leases)
    }

    async fn claim_batch(
        &self,
        connection: &Object,
        request: &LeaseRequest,
        wanted: &Wanted,
        limit: u32,
        now: Now,
    ) -> Result<Option<Lease>, StoreError> {
        if limit == 0 {
            return Ok(None);
        }
        let token = LeaseToken::new();
        let (low, versions) = (i64::MIN, versions(wanted));
        let rows = self
            .query_on(
                connection,
                Sql::lease,
                &[
                    &moment(now),
                    &Uuid::from_u128(token.as_u128()),
                    &request.host,
                    &wanted.handler_key,
                    &versions,
                    &i64::from(limit),
                    &attempts(wanted),
                    &Span(request.duration),
                    &low,
                    &low,
                    &low,
                    &low,
                ],
            )
            .await?;
        lease(token, false, &rows)
    }

    async fn claim_suspect(
        &self,
        connection: &Object,
        request: &LeaseRequest,
        now: Now,
    ) -> Result<Option<Lease>, StoreError> {
        let token = LeaseToken::new();
        let pairs = || {
            request.wanted.iter().flat_map(|wanted| {
                versions(wanted).into_iter().map(move |version| (wanted, version))
            })
        };
        let keys: Vec<_> = pairs().map(|(wanted, _)| wanted.handler_key.as_str()).collect();
        let versions: Vec<_> = pairs().map(|(_, version)| version).collect();
        let max_attempts: Vec<_> = pairs().map(|(wanted, _)| attempts(wanted)).collect();
        let rows = self
            .query_on(
                connection,
                Sql::lease_suspect,
                &[
                    &moment(now),
                    &Uuid::from_u128(token.as_u128()),
                    &request.host,
                    &keys,
                    &versions,
                    &max_attempts,
                    &Span(request.duration),
                ],
            )
            .await;
        match rows {
            Ok(rows) => lease(token, true, &rows),
            // Another call of this host was faster.
            Err(error) if is_unique_violation(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Versions beyond what the column holds are nobody's.
fn versions(wanted: &Wanted) -> Vec<i32> {
    wanted.versions.iter().filter_map(|version| i32::try_from(*version).ok()).collect()
}

fn attempts(wanted: &Wanted) -> i32 {
    i32::try_from(wanted.max_attempts.get()).unwrap_or(i32::MAX)
}

/// Reads what `lease.sql` answers.
fn lease(token: LeaseToken, suspect: bool, rows: &[Row]) -> Result<Option<Lease>, StoreError> {
    let Some(first) = rows.first() else { return Ok(None) };
    let mut lease = Lease {
        token,
        handler_key: column(first, 7).map_err(damaged)?,
        suspect,
        leased_at: timestamp(first, 0).map_err(damaged)?,
        expires_at: timestamp(first, 1).map_err(damaged)?,
        deliveries: Vec::new(),
        unreadable: Vec::new(),
    };
    for row in rows {
        let id = message_id(row, 4).map_err(damaged)?;
        match delivery(row, &lease.handler_key) {
            Ok(delivery) => lease.deliveries.push(delivery),
            Err(reason) => lease.unreadable.push(Unreadable { message_id: id, reason }),
        }
    }
    Ok(Some(lease))
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
