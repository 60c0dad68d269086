use std::collections::HashMap;
use std::time::Duration;

use inbox_core::Now;
use inbox_core::message::MessageId;
use inbox_core::store::{LeaseLost, LeaseToken, Renewed, StoreError};
use uuid::Uuid;

use crate::PostgresStore;
use crate::client::Client;
use crate::row::{column, timestamp};
use crate::schedule::{damaged, moment};
use crate::sql::Sql;
use crate::value::Span;

/// Extends each lease, and answers in the order of `tokens`.
pub(crate) async fn renew(
    store: &PostgresStore,
    client: Client<'_>,
    tokens: &[LeaseToken],
    duration: Duration,
    now: Now,
) -> Result<Vec<Result<Renewed, LeaseLost>>, StoreError> {
    let uuids: Vec<_> = tokens.iter().map(|token| Uuid::from_u128(token.as_u128())).collect();
    let text = store.text(Sql::renew);
    let rows = client.query(text, &[&moment(now), &uuids, &Span(duration)]).await?;
    let mut renewed = HashMap::new();
    for row in &rows {
        let token: Uuid = column(row, 0).map_err(damaged)?;
        let expires_at = timestamp(row, 1).map_err(damaged)?;
        // Settled to the last, it is over, whatever is left of it.
        if column::<Option<bool>>(row, 3).map_err(damaged)?.is_none() {
            continue;
        }
        let cancelled: Vec<Uuid> = column(row, 2).map_err(damaged)?;
        let cancelled = cancelled.into_iter();
        let cancelled = cancelled.map(|id| MessageId::from_u128(id.as_u128())).collect();
        renewed.insert(token.as_u128(), Renewed { expires_at, cancelled });
    }
    let answer =
        |token: &LeaseToken| renewed.get(&token.as_u128()).cloned().ok_or(LeaseLost(*token));
    Ok(tokens.iter().map(answer).collect())
}
