use std::str::FromStr as _;
use std::time::Duration;

use inbox_core::Now;
use inbox_core::settle::ErrorReport;
use inbox_core::store::{
    DeadDelivery, DeliveryState, KnownRoute, Maintain, OrphanTerms, Reclaimed, ReclaimedDelivery,
    Route, Served, StoreError, StoreFuture,
};
use tokio_postgres::Row;

use crate::PostgresStore;
use crate::row::{Unreadable, column, count, message_id, timestamp};
use crate::schedule::{damaged, moment};
use crate::shared::{Freed, LaneNames};
use crate::sql::Sql;
use crate::store::Parameters;
use crate::time_limit::answer_within;

/// Rows that one statement moves while a handler registers.
const PAGE: u32 = 1_000;

/// Whoever asks how a process is does not wait longer.
const CHECK: Duration = Duration::from_secs(5);

impl Maintain for PostgresStore {
    fn register_routes(&self, routes: Vec<Route>, now: Now) -> StoreFuture<'_, Vec<KnownRoute>> {
        Box::pin(async move {
            let known = self.in_time(self.register(&routes, now)).await?;
            self.route_all(now).await?;
            Ok(known)
        })
    }

    fn route(&self, limit: u32, now: Now) -> StoreFuture<'_, u64> {
        Box::pin(
            async move { self.count_ready(Sql::route, &[&moment(now), &i64::from(limit)]).await },
        )
    }

    fn promote(&self, limit: u32, now: Now) -> StoreFuture<'_, u64> {
        Box::pin(
            async move { self.count_ready(Sql::promote, &[&moment(now), &i64::from(limit)]).await },
        )
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
            let deliveries = rows.iter().map(reclaimed).collect::<Result<_, _>>();
            let reclaimed = Reclaimed { deliveries: deliveries.map_err(damaged)? };
            if reclaimed.returned() > 0 {
                self.ring_here();
            }
            let (lanes, freed) = shared(&rows).map_err(damaged)?;
            self.hand_on_lanes(&lanes, now).await?;
            self.hand_on_limits(&freed).await?;
            Ok(reclaimed)
        })
    }

    fn announce(&self, host: &str, serves: Vec<Served>, now: Now) -> StoreFuture<'_, ()> {
        let host = host.to_owned();
        Box::pin(async move { self.say_here(&host, &serves, now).await })
    }

    fn leave(&self, host: &str) -> StoreFuture<'_, ()> {
        let host = host.to_owned();
        Box::pin(async move { self.query(Sql::leave, &[&host]).await.map(drop) })
    }

    fn give_up_orphans(
        &self,
        terms: OrphanTerms,
        limit: u32,
        now: Now,
    ) -> StoreFuture<'_, Vec<DeadDelivery>> {
        Box::pin(self.give_up(terms, limit, now))
    }

    fn mend(&self, limit: u32, now: Now) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let leases = self.count(Sql::lease_restore, &[&moment(now), &i64::from(limit)]).await?;
            let lanes = self.mend_lanes(limit, now).await?;
            let mended = leases + lanes + self.restart_limits(limit).await?;
            if mended > 0 {
                self.ring_everywhere();
            }
            Ok(mended)
        })
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        Box::pin(answer_within(CHECK.min(self.call_timeout()), self.validate_schema()))
    }
}

fn reclaimed(row: &Row) -> Result<ReclaimedDelivery, Unreadable> {
    Ok(ReclaimedDelivery {
        message_id: message_id(row, 0)?,
        handler_key: column(row, 1)?,
        host: column(row, 2)?,
        attempts: count(row, 3)?,
        crashes: count(row, 4)?,
        state: DeliveryState::from_str(column(row, 5)?).map_err(|error| error.to_string())?,
    })
}

/// Of what was reclaimed: its lanes, and what is free of limits.
fn shared(rows: &[Row]) -> Result<(LaneNames, Freed), Unreadable> {
    let (mut lanes, mut freed) = (LaneNames::default(), Freed::default());
    for row in rows {
        if column::<Option<&str>>(row, 8)?.is_some() {
            lanes.push(row, 6)?;
        }
        if column(row, 9)? {
            freed.first_keys.push(column(row, 6)?);
            freed.tenants.push(column(row, 7)?);
            freed.concurrency_keys.push(column(row, 10)?);
        }
    }
    Ok((lanes, freed))
}

impl PostgresStore {
    /// Routes all that waited for a route and has one, in pages: others must get their turn.
    pub(crate) async fn route_all(&self, now: Now) -> Result<(), StoreError> {
        while self.route(PAGE, now).await? >= PAGE.into() {}
        Ok(())
    }

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

    /// The same, where what it moved may be ready. Those of other processes do it too, all the time: they
    /// need not be told.
    pub(crate) async fn count_ready(
        &self,
        sql: Sql,
        parameters: Parameters<'_>,
    ) -> Result<u64, StoreError> {
        let count = self.count(sql, parameters).await?;
        if count > 0 {
            self.ring_here();
        }
        Ok(count)
    }
}
