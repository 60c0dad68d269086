//! *held → done, waiting, dead or ready*: what becomes of deliveries in flight.

mod asked;
mod settled;

use std::sync::Arc;

use deadpool_postgres::Object;
use inbox_core::Now;
use inbox_core::message::Shares;
use inbox_core::settle::Settlement;
use inbox_core::store::{
    DeliveryState, HandlerTransactions, LeaseLost, LeaseToken, Settle, StateStore, StoreError,
    StoreFuture,
};
use uuid::Uuid;

use crate::PostgresStore;
use crate::row::{column, message_id};
use crate::schedule::damaged;
use crate::sql::Sql;
use crate::store::Parameters;
use crate::transaction::TransactionScope;

pub(crate) use asked::AskedSettlements;
pub(crate) use settled::Settled;

impl StateStore for PostgresStore {
    fn settle(
        &self,
        settles: Vec<Settle>,
        now: Now,
    ) -> StoreFuture<'_, Vec<Result<DeliveryState, LeaseLost>>> {
        Box::pin(async move {
            if settles.is_empty() {
                return Ok(Vec::new());
            }
            let settled = self.in_time(self.settle_now(&settles, now)).await?;
            self.ring_for(&settled);
            Ok(settled.answers(&settles))
        })
    }

    fn transactions(&self) -> Option<Arc<dyn HandlerTransactions>> {
        Some(Arc::new(TransactionScope(self.clone())))
    }

    fn release(&self, tokens: Vec<LeaseToken>, now: Now) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let ids: Vec<_> = tokens.iter().map(|one| Uuid::from_u128(one.as_u128())).collect();
            let rows = self.query(Sql::held_under, &[&ids]).await?;
            let settles = rows.iter().map(|row| {
                let token = LeaseToken::from_u128(column::<Uuid>(row, 0)?.as_u128());
                let one = Settle::by_id(token, message_id(row, 1)?, Settlement::Release);
                let shares = Shares { lane: column(row, 2)?, limit: column(row, 3)? };
                Ok(Settle { shares, ..one })
            });
            let settles = settles.collect::<Result<Vec<_>, String>>().map_err(damaged)?;
            let answers = self.settle(settles, now).await?;
            let is_ready = |one: &&Result<_, _>| matches!(one, Ok(DeliveryState::Pending));
            Ok(answers.iter().filter(is_ready).count() as u64)
        })
    }

    fn abandon(&self, tokens: Vec<LeaseToken>, now: Now) {
        // Without a runtime there is nobody left to do it: the leases expire.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if tokens.is_empty() {
            return;
        }
        let store = self.clone();
        self.inner().tasks.spawn_on(
            async move {
                if let Err(error) = store.release(tokens, now).await {
                    tracing::debug!(%error, "could not release leases: they will expire");
                }
            },
            &runtime,
        );
    }
}

impl PostgresStore {
    async fn settle_now(&self, settles: &[Settle], now: Now) -> Result<Settled, StoreError> {
        let mut working = self.connection().await?;
        let settled = self.settle_on(working.get()?, settles, now).await;
        working.done_with(&settled);
        settled
    }

    pub(crate) async fn settle_on(
        &self,
        connection: &Object,
        settles: &[Settle],
        now: Now,
    ) -> Result<Settled, StoreError> {
        let asked = AskedSettlements::of(settles, now);
        let client = self.client(connection);
        let parameters = asked.parameters();
        let statements = asked.statements(asked.sql(), &parameters);
        let answers = match &statements[..] {
            // It is one statement, and needs no transaction.
            [(sql, parameters)] => {
                client.query(self.text(*sql), parameters).await.map(|rows| vec![rows])
            }
            _ => {
                let statements: Vec<(&str, Parameters<'_>)> =
                    statements.iter().map(|(sql, given)| (self.text(*sql), &given[..])).collect();
                client.query_all(&statements).await
            }
        };
        asked.read(&answers?)
    }

    /// What was given back is for any worker; what waits is due sooner than workers here may expect.
    pub(crate) fn ring_for(&self, settled: &Settled) {
        if settled.is_any(DeliveryState::Pending) {
            self.ring_everywhere();
        } else if settled.has_next {
            self.ring_here_first();
        } else if settled.is_any(DeliveryState::Waiting) {
            self.ring_here();
        }
    }
}
