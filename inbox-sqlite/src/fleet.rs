use std::collections::BTreeMap;
use std::time::Duration;

use inbox_core::Timestamp;
use inbox_core::settle::{DeadReason, ErrorReport};
use inbox_core::store::{DeadDelivery, HostRecord, OrphanTerms, RouteRecord, Served};
use rusqlite::types::Type;
use rusqlite::{Connection, Error, Result, Row, params};

use crate::delivery::Moving;
use crate::lanes::Touched;
use crate::row::timestamp;
use crate::sql::sql;

/// A host that was not seen for so many times as long as it counts as alive is forgotten.
const FORGOTTEN_AFTER: u32 = 60;

/// Makes a host known, or says that it is still there.
pub(crate) fn announce(
    connection: &Connection,
    host: &str,
    serves: &[Served],
    now: Timestamp,
) -> Result<()> {
    let serves: serde_json::Map<_, _> = serves
        .iter()
        .map(|served| (served.handler_key.clone(), served.versions.clone().into()))
        .collect();
    let serves = serde_json::Value::Object(serves).to_string();
    let mut announce = connection.prepare_cached(sql!("announce"))?;
    announce.execute(params![host, now.as_micros(), serves])?;
    connection.prepare_cached(sql!("announce_served"))?.execute([serves])?;
    Ok(())
}

pub(crate) fn hosts(connection: &Connection) -> Result<Vec<HostRecord>> {
    let mut select = connection.prepare_cached(sql!("hosts"))?;
    let hosts = select.query_map([], |row| {
        let serves: BTreeMap<String, Vec<u32>> = json(row, 3, |text| serde_json::from_str(text))?;
        let one = |(handler_key, versions)| Served { handler_key, versions };
        Ok(HostRecord {
            name: row.get(0)?,
            started_at: timestamp(row, 1)?,
            seen_at: timestamp(row, 2)?,
            serves: serves.into_iter().map(one).collect(),
        })
    })?;
    hosts.collect()
}

/// Every route, with those hosts that were seen after `alive_since`.
pub(crate) fn routes(connection: &Connection, alive_since: i64) -> Result<Vec<RouteRecord>> {
    let mut select = connection.prepare_cached(sql!("route_records"))?;
    let routes = select.query_map([alive_since], |row| {
        let mut hosts: Vec<String> = json(row, 5, |text| serde_json::from_str(text))?;
        hosts.sort();
        Ok(RouteRecord {
            contract: row.get(0)?,
            handler_key: row.get(1)?,
            superseded_by: row.get(2)?,
            retired: row.get(3)?,
            open: row.get::<_, i64>(4)?.unsigned_abs(),
            hosts,
        })
    })?;
    routes.collect()
}

/// ready → dead, for what no live host serves.
pub(crate) fn give_up_orphans(
    connection: &Connection,
    OrphanTerms { grace, alive_for }: OrphanTerms,
    limit: u32,
    now: Timestamp,
) -> Result<Vec<DeadDelivery>> {
    let alive_since = before(now, alive_for);
    let mut select = connection.prepare_cached(sql!("orphan_live"))?;
    let (hosts, keys): (i64, String) =
        select.query_row([alive_since], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if hosts == 0 {
        return Ok(Vec::new());
    }
    let forgotten = before(now, alive_for.saturating_mul(FORGOTTEN_AFTER));
    connection.prepare_cached(sql!("orphan_forget"))?.execute([forgotten])?;
    connection.prepare_cached(sql!("orphan_clear"))?.execute([&keys])?;
    let mut mark = connection.prepare_cached(sql!("orphan_mark"))?;
    mark.execute(params![keys, now.as_micros(), alive_since])?;
    let mut due = connection.prepare_cached(sql!("orphan_due"))?;
    let due = due.query_map([before(now, grace)], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let due = due.collect::<Result<Vec<(String, bool)>>>()?;
    let live: Vec<String> = serde_json::from_str(&keys).unwrap_or_default();
    let mut dead = Vec::new();
    for (handler_key, blocks) in due {
        let error = ErrorReport::orphaned(&handler_key, &live);
        // Where a dead one lets its lane pass, the next of it is an orphan too.
        loop {
            let left = limit.saturating_sub(u32::try_from(dead.len()).unwrap_or(limit));
            let taken = give_up(connection, &handler_key, blocks, &error, left, now)?;
            if taken.is_empty() {
                break;
            }
            dead.extend(taken);
        }
    }
    Ok(dead)
}

fn give_up(
    connection: &Connection,
    handler_key: &str,
    blocks: bool,
    error: &ErrorReport,
    limit: u32,
    now: Timestamp,
) -> Result<Vec<DeadDelivery>> {
    let mut take = connection.prepare_cached(sql!("orphan_take"))?;
    let taken = take.query_map(params![handler_key, limit], Moving::read)?;
    let taken = taken.collect::<Result<Vec<_>>>()?;
    let mut lanes = Touched::default();
    for delivery in &taken {
        delivery.to_dead(connection, blocks, DeadReason::Orphaned, error, now)?;
        lanes.by(delivery);
    }
    lanes.hand_on(connection, now)?;
    let named = |Moving { message_id, handler_key, attempts, .. }| DeadDelivery {
        message_id,
        handler_key,
        attempts,
    };
    Ok(taken.into_iter().map(named).collect())
}

/// So long before `now`, as it is stored.
pub(crate) fn before(now: Timestamp, time: Duration) -> i64 {
    now.as_micros().saturating_sub(i64::try_from(time.as_micros()).unwrap_or(i64::MAX))
}

fn json<T>(row: &Row<'_>, at: usize, read: fn(&str) -> serde_json::Result<T>) -> Result<T> {
    let text: String = row.get(at)?;
    let damaged = |error| Error::FromSqlConversionFailure(at, Type::Text, Box::new(error));
    read(&text).map_err(damaged)
}
