use std::time::Duration;

use inbox_core::store::{
    DeadDelivery, KnownRoute, Maintain, OrphanTerms, Reclaimed, Route, Served, StoreError,
    StoreFuture,
};
use inbox_core::{Now, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, Result, params};

use crate::delivery::{COLUMNS, Moving};
use crate::lanes::Touched;
use crate::new::New;
use crate::reclaim::reclaim;
use crate::row::timestamp;
use crate::sql::sql;
use crate::{SqliteStore, fleet, lane_acts, routes};

/// Rows that one transaction moves while a handler registers.
const PAGE: u32 = 1_000;

impl Maintain for SqliteStore {
    fn register_routes(&self, routes: Vec<Route>, now: Now) -> StoreFuture<'_, Vec<KnownRoute>> {
        Box::pin(async move {
            let registered = self.write(move |connection| {
                let now = now.or_else(Timestamp::now);
                routes::register(connection, &routes, now)
            });
            let known = registered.await??;
            self.route_all(now).await?;
            Ok(known)
        })
    }

    fn route(&self, limit: u32, now: Now) -> StoreFuture<'_, u64> {
        Box::pin(self.write_and_ring(move |connection| {
            route(connection, limit, now.or_else(Timestamp::now))
        }))
    }

    fn promote(&self, limit: u32, now: Now) -> StoreFuture<'_, u64> {
        Box::pin(self.write_and_ring(move |connection| {
            promote(connection, limit, now.or_else(Timestamp::now))
        }))
    }

    fn next_due(&self, now: Now) -> StoreFuture<'_, Option<Duration>> {
        Box::pin(async move {
            let first = self.read(|connection| {
                let mut select = connection.prepare_cached(sql!("next_due"))?;
                select.query_row([], |row| timestamp(row, 0)).optional()
            });
            let now = now.or_else(Timestamp::now);
            Ok(first.await?.map(|due_at| due_at.saturating_duration_since(now)))
        })
    }

    fn reclaim(&self, limit: u32, now: Now) -> StoreFuture<'_, Reclaimed> {
        Box::pin(self.write_and_ring(move |connection| {
            reclaim(connection, limit, now.or_else(Timestamp::now))
        }))
    }

    fn announce(&self, host: &str, serves: Vec<Served>, now: Now) -> StoreFuture<'_, ()> {
        let host = host.to_owned();
        Box::pin(self.write(move |connection| {
            fleet::announce(connection, &host, &serves, now.or_else(Timestamp::now))
        }))
    }

    fn leave(&self, host: &str) -> StoreFuture<'_, ()> {
        let host = host.to_owned();
        Box::pin(self.write(move |connection| {
            connection.prepare_cached(sql!("leave"))?.execute([&host]).map(drop)
        }))
    }

    fn give_up_orphans(
        &self,
        terms: OrphanTerms,
        limit: u32,
        now: Now,
    ) -> StoreFuture<'_, Vec<DeadDelivery>> {
        Box::pin(self.write(move |connection| {
            fleet::give_up_orphans(connection, terms, limit, now.or_else(Timestamp::now))
        }))
    }

    fn mend(&self, limit: u32, now: Now) -> StoreFuture<'_, u64> {
        Box::pin(self.write_and_ring(move |connection| {
            lane_acts::mend(connection, limit, now.or_else(Timestamp::now))
        }))
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.read(|connection| connection.query_row(sql!("check"), [], |_| Ok(()))).await
        })
    }
}

impl SqliteStore {
    /// Routes all that waited for a route and has one, in pages: others must get their turn.
    pub(crate) async fn route_all(&self, now: Now) -> std::result::Result<(), StoreError> {
        while self.route(PAGE, now).await? >= PAGE.into() {}
        Ok(())
    }
}

fn route(connection: &Connection, limit: u32, now: Timestamp) -> Result<u64> {
    let mut take = connection.prepare_cached(sql!("route_take"))?;
    let taken = take.query_map([limit], |row| {
        Ok(New {
            message_id: row.get(0)?,
            version: row.get(1)?,
            priority: row.get(2)?,
            due_at: timestamp(row, 3)?,
            contract: row.get(4)?,
            position: row.get(5)?,
            tenant: row.get(6)?,
            ordering_key: row.get(7)?,
            concurrency_key: row.get(8)?,
        })
    })?;
    let mut taken = taken.collect::<Result<Vec<_>>>()?;
    // RETURNING promises no order.
    taken.sort_by_key(|new| new.position);
    for new in &mut taken {
        new.route(connection, now)?;
    }
    Ok(taken.len() as u64)
}

fn promote(connection: &Connection, limit: u32, now: Timestamp) -> Result<u64> {
    let mut take = connection.prepare_cached(sql!("promote_take"))?;
    let taken = take.query_map(params![now.as_micros(), limit], |row| {
        Ok((timestamp(row, COLUMNS)?, Moving::read(row)?))
    })?;
    let mut taken = taken.collect::<Result<Vec<_>>>()?;
    // The one that waited longest is first; of those that waited equally long, the oldest.
    taken.sort_by_key(|(due_at, delivery)| (*due_at, delivery.message_id));
    let mut lanes = Touched::default();
    for (_, delivery) in &taken {
        delivery.to_ready(connection)?;
        lanes.by(delivery);
    }
    lanes.hand_on(connection, now)?;
    Ok(taken.len() as u64)
}
