use inbox_core::settle::{DeadReason, ErrorReport};
use inbox_core::store::{Maintain, Reclaimed, Route, StoreFuture};
use inbox_core::{Now, Timestamp};
use rusqlite::{Connection, Result, params};

use crate::SqliteStore;
use crate::held::Held;
use crate::row::timestamp;
use crate::schedule;
use crate::sql::sql;

impl Maintain for SqliteStore {
    fn register_routes(&self, routes: Vec<Route>, now: Now) -> StoreFuture<'_, ()> {
        Box::pin(self.write(move |connection| {
            let now = now.or_else(Timestamp::now);
            routes.iter().try_for_each(|route| register(connection, route, now))?;
            route(connection, u32::MAX, now)?;
            Ok(())
        }))
    }

    fn route(&self, limit: u32, now: Now) -> StoreFuture<'_, u64> {
        Box::pin(
            self.write(move |connection| route(connection, limit, now.or_else(Timestamp::now))),
        )
    }

    fn promote(&self, limit: u32, now: Now) -> StoreFuture<'_, u64> {
        Box::pin(
            self.write(move |connection| promote(connection, limit, now.or_else(Timestamp::now))),
        )
    }

    fn reclaim(&self, limit: u32, now: Now) -> StoreFuture<'_, Reclaimed> {
        Box::pin(
            self.write(move |connection| reclaim(connection, limit, now.or_else(Timestamp::now))),
        )
    }
}

fn register(connection: &Connection, route: &Route, now: Timestamp) -> Result<()> {
    let Route { contract, handler_key, supersedes } = route;
    for old in supersedes {
        let mut supersede = connection.prepare_cached(sql!("route_supersede"))?;
        supersede.execute(params![contract, old, handler_key, now.as_micros()])?;
    }
    let mut register = connection.prepare_cached(sql!("route_register"))?;
    register.execute(params![contract, handler_key, now.as_micros()])?;
    Ok(())
}

fn route(connection: &Connection, limit: u32, now: Timestamp) -> Result<u64> {
    let mut take = connection.prepare_cached(sql!("route_take"))?;
    let taken = take.query_map([limit], |row| {
        let (id, version, priority): ([u8; 16], u32, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok((id, version, priority, timestamp(row, 3)?, row.get::<_, String>(4)?))
    })?;
    let mut taken = taken.collect::<Result<Vec<_>>>()?;
    // RETURNING promises no order; ids are in the order of their making.
    taken.sort_by_key(|taken| taken.0);
    for (id, version, priority, due_at, contract) in &taken {
        schedule::route(connection, contract, *version, *priority, *id, *due_at, now)?;
    }
    Ok(taken.len() as u64)
}

fn promote(connection: &Connection, limit: u32, now: Timestamp) -> Result<u64> {
    let mut take = connection.prepare_cached(sql!("promote_take"))?;
    let taken = take.query_map(params![now.as_micros(), limit], |row| {
        let (id, key): ([u8; 16], String) = (row.get(0)?, row.get(1)?);
        let (version, priority): (i64, i64) = (row.get(2)?, row.get(3)?);
        let (attempts, delayed_retries): (u32, u32) = (row.get(4)?, row.get(5)?);
        Ok((timestamp(row, 6)?, id, key, version, priority, attempts, delayed_retries))
    })?;
    let mut taken = taken.collect::<Result<Vec<_>>>()?;
    taken.sort();
    let mut insert = connection.prepare_cached(sql!("return_ready"))?;
    for (_, id, key, version, priority, attempts, delayed_retries) in &taken {
        insert.execute(params![key, version, priority, id, attempts, delayed_retries, false])?;
    }
    Ok(taken.len() as u64)
}

fn reclaim(connection: &Connection, limit: u32, now: Timestamp) -> Result<Reclaimed> {
    let mut take = connection.prepare_cached(sql!("reclaim_take"))?;
    let taken = take.query_map(params![now.as_micros(), limit], |row| {
        Ok((Held::read(row)?, row.get::<_, u32>(8)?))
    })?;
    let mut reclaimed = Reclaimed::default();
    for (held, max_attempts) in taken.collect::<Result<Vec<_>>>()? {
        let error = ErrorReport::new(
            "lease-expired",
            "the worker did not report back before its lease expired: it crashed, hung, or was cut \
             off from the store",
        );
        match (held.suspect, held.attempt >= max_attempts) {
            (false, _) => held.return_ready(connection, held.attempt.saturating_sub(1), true)?,
            (true, false) => {
                held.return_ready(connection, held.attempt, true)?;
                held.record(connection, &error, now)?;
            }
            (true, true) => {
                held.dead(connection, DeadReason::LeaseExpired, &error, now)?;
                reclaimed.dead += 1;
                continue;
            }
        }
        reclaimed.returned += 1;
    }
    Ok(reclaimed)
}
