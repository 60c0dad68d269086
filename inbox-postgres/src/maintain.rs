use std::time::Duration;

use inbox_core::Now;
use inbox_core::settle::ErrorReport;
use inbox_core::store::{KnownRoute, Maintain, Reclaimed, Route, StoreError, StoreFuture};

use crate::PostgresStore;
use crate::client::begin;
use crate::error::translate;
use crate::row::{column, timestamp};
use crate::schedule::{damaged, moment};
use crate::sql::Sql;
use crate::store::Parameters;

/// Rows that one statement moves while a handler registers.
const PAGE: u32 = 1_000;

impl Maintain for PostgresStore {
    fn register_routes(&self, routes: Vec<Route>, now: Now) -> StoreFuture<'_, Vec<KnownRoute>> {
        Box::pin(async move {
            let known = self.in_time(self.register(&routes, now)).await?;
            // In pages: others must get their turn.
            while self.route(PAGE, now).await? >= PAGE.into() {}
            Ok(known)
        })
    }

    fn route(&self, limit: u32, now: Now) -> StoreFuture<'_, u64> {
        Box::pin(async move { self.count(Sql::route, &[&moment(now), &i64::from(limit)]).await })
    }

    fn promote(&self, limit: u32, now: Now) -> StoreFuture<'_, u64> {
        Box::pin(async move { self.count(Sql::promote, &[&moment(now), &i64::from(limit)]).await })
    }

    fn next_due(&self, now: Now) -> StoreFuture<'_, Option<Duration>> {
        Box::pin(async move {
            let rows = self.query(Sql::next_due, &[&moment(now)]).await?;
            let Some(row) = rows.first() else { return Ok(None) };
            let (due_at, now) = (timestamp(row, 0).map_err(damaged)?, timestamp(row, 1));
            Ok(Some(due_at.saturating_duration_since(now.map_err(damaged)?)))
        })
    }

    fn reclaim(&self, limit: u32, now: Now) -> StoreFuture<'_, Reclaimed> {
        Box::pin(async move {
            let (limit, error) = (i64::from(limit), ErrorReport::lease_expired());
            let parameters: Parameters<'_> =
                &[&moment(now), &limit, &error.error_type, &error.text];
            let rows = self.query(Sql::reclaim, parameters).await?;
            let Some(row) = rows.first() else { return Ok(Reclaimed::default()) };
            let count = |at| column::<i64>(row, at).map(i64::unsigned_abs).map_err(damaged);
            Ok(Reclaimed { returned: count(0)?, dead: count(1)?, cancelled: count(2)? })
        })
    }
}

impl PostgresStore {
    /// Runs a statement that answers how many rows it moved.
    pub(crate) async fn count(
        &self,
        sql: Sql,
        parameters: Parameters<'_>,
    ) -> Result<u64, StoreError> {
        let rows = self.query(sql, parameters).await?;
        let count = rows.first().map(|row| column::<i64>(row, 0)).transpose().map_err(damaged)?;
        Ok(count.unwrap_or(0).unsigned_abs())
    }

    async fn register(&self, routes: &[Route], now: Now) -> Result<Vec<KnownRoute>, StoreError> {
        let mut working = self.connection().await?;
        let transaction = begin(working.get()?, self.inner().owner).await?;
        let table =
            format!("LOCK TABLE {}.route IN SHARE ROW EXCLUSIVE MODE", self.inner().schema.quoted);
        transaction.batch_execute(&table).await.map_err(translate)?;
        let contracts: Vec<_> = routes.iter().map(|route| route.contract.as_str()).collect();
        let keys: Vec<_> = routes.iter().map(|route| route.handler_key.as_str()).collect();
        let text = |sql| self.text(sql);
        let taken = transaction
            .query_opt(text(Sql::route_taken), &[&contracts, &keys])
            .await
            .map_err(translate)?;
        if let Some(row) = taken {
            let word = |at| column::<String>(&row, at).map_err(damaged);
            return Err(StoreError::key_taken(&word(0)?, &word(1)?, &word(2)?));
        }
        let superseded =
            || routes.iter().flat_map(|route| route.supersedes.iter().map(move |old| (route, old)));
        // First those that give way, so that the order of the routes does not matter.
        let (mut given, mut all_keys, mut by): (Vec<&str>, Vec<&str>, Vec<Option<&str>>) =
            (Vec::new(), Vec::new(), Vec::new());
        for (route, old) in superseded() {
            given.push(&route.contract);
            all_keys.push(old);
            by.push(Some(&route.handler_key));
        }
        for parameters in [(&given, &all_keys, &by), (&contracts, &keys, &vec![None; keys.len()])] {
            let (contracts, keys, by) = parameters;
            transaction
                .execute(text(Sql::route_register), &[contracts, keys, by, &moment(now)])
                .await
                .map_err(translate)?;
        }
        let own: Vec<_> = superseded().map(|(route, _)| route.handler_key.as_str()).collect();
        transaction
            .execute(text(Sql::route_restore), &[&given, &own, &all_keys])
            .await
            .map_err(translate)?;
        let rows = transaction.query(text(Sql::routes), &[&contracts]).await.map_err(translate)?;
        transaction.commit().await.map_err(translate)?;
        working.done();
        let known = rows.iter().map(|row| {
            let (contract, handler_key) = (column(row, 0)?, column(row, 1)?);
            Ok(KnownRoute { contract, handler_key, superseded_by: column(row, 2)? })
        });
        known.collect::<Result<_, String>>().map_err(damaged)
    }
}
