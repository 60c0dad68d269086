use std::time::Duration;

use inbox_core::message::MessageId;
use inbox_core::store::{Settle, StoreError};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::PostgresStore;
use crate::row::{column, message_id, uuid};
use crate::schedule::damaged;
use crate::shared::number;
use crate::sql::Sql;

/// Between two questions.
const PAUSE: Duration = Duration::from_millis(100);

impl PostgresStore {
    /// Whether a transaction was committed that was to settle these deliveries, as far as can be told: if they
    /// are held, it was not. The server may still be at it, or may not have begun, which is waited for.
    pub(super) async fn was_settled(
        &self,
        settles: &[Settle],
        backend: Option<i32>,
    ) -> Result<bool, StoreError> {
        let until = Instant::now() + self.call_timeout();
        let (leases, messages) = names(settles);
        loop {
            let is_at_it = match self.query(Sql::backend, &[&backend]).await {
                Ok(rows) => number(&rows)? > 0,
                Err(error) if error.is_transient() => true,
                Err(error) => return Err(error),
            };
            if !is_at_it || Instant::now() >= until {
                break;
            }
            sleep(PAUSE).await;
        }
        loop {
            match self.query(Sql::held_wait, &[&leases, &messages]).await {
                Err(error) if error.is_transient() && Instant::now() < until => sleep(PAUSE).await,
                Err(error) => return Err(error),
                Ok(rows) => return Ok(number(&rows)? == 0),
            }
        }
    }

    /// Those of the messages whose deliveries are not held any more.
    pub(super) async fn lost(&self, settles: &[Settle]) -> Result<Vec<MessageId>, StoreError> {
        let (leases, _) = names(settles);
        let rows = self.query(Sql::held_under, &[&leases]).await?;
        let held = rows.iter().map(|row| Ok((column::<Uuid>(row, 0)?, message_id(row, 1)?)));
        let held = held.collect::<Result<Vec<_>, String>>().map_err(damaged)?;
        let is_lost =
            |one: &&Settle| !held.contains(&(Uuid::from_u128(one.token.as_u128()), one.message_id));
        Ok(settles.iter().filter(is_lost).map(|one| one.message_id).collect())
    }
}

fn names(settles: &[Settle]) -> (Vec<Uuid>, Vec<Uuid>) {
    let name = |one: &Settle| (Uuid::from_u128(one.token.as_u128()), uuid(one.message_id));
    settles.iter().map(name).unzip()
}
