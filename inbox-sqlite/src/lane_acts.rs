//! What people and their tools do with lanes.

use inbox_core::Timestamp;
use inbox_core::store::{Lane, LaneFilter, LaneRecord};
use rusqlite::{Connection, OptionalExtension as _, Result, Row, params};

use crate::inspect::state;
use crate::lanes::{LaneName, hand_on};
use crate::row::{message_id, timestamp};
use crate::sql::sql;

pub(crate) fn list(connection: &Connection, filter: &LaneFilter) -> Result<Vec<LaneRecord>> {
    let mut select = connection.prepare_cached(sql!("lanes"))?;
    let parameters = params![filter.handler_key, filter.blocked, filter.page_size()];
    select.query_map(parameters, record)?.collect()
}

fn record(row: &Row<'_>) -> Result<LaneRecord> {
    Ok(LaneRecord {
        lane: Lane { handler_key: row.get(0)?, tenant: row.get(1)?, ordering_key: row.get(2)? },
        head: message_id(row, 3)?,
        state: state(row, 4)?,
        since: timestamp(row, 5)?,
        behind: row.get::<_, i64>(6)?.unsigned_abs(),
    })
}

/// Hands a lane on whose head is dead.
pub(crate) fn let_pass(connection: &Connection, lane: &Lane, now: Timestamp) -> Result<bool> {
    let mut first = connection.prepare_cached(sql!("first_key"))?;
    let first_key: String = first.query_row([&lane.handler_key], |row| row.get(0))?;
    let mut select = connection.prepare_cached(sql!("lane_blocked_by"))?;
    let name = [&first_key, &lane.tenant, &lane.ordering_key];
    let head: Option<([u8; 16], String)> =
        select.query_row(name, |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((id, key)) = head else { return Ok(false) };
    hand_on(connection, id, &key, now)?;
    Ok(true)
}

/// Brings back lanes that nobody would. Verbs are transactions, so this is for what was changed by hand.
pub(crate) fn mend(connection: &Connection, limit: u32, now: Timestamp) -> Result<u64> {
    let mut lost = connection.prepare_cached(sql!("lanes_lost"))?;
    let lost = lost.query_map([limit], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let lost = lost.collect::<Result<Vec<([u8; 16], String)>>>()?;
    for (id, key) in &lost {
        hand_on(connection, *id, key, now)?;
    }
    let mut headless = connection.prepare_cached(sql!("lanes_headless"))?;
    let headless = headless.query_map([limit], |row| LaneName::read(row, 0))?;
    let headless = headless.collect::<Result<Vec<_>>>()?;
    for lane in headless.iter().flatten() {
        lane.open(connection)?;
    }
    let hidden = connection.prepare_cached(sql!("lanes_hidden"))?.execute([limit])?;
    let mended = lost.len() + headless.len() + hidden;
    if mended > 0 {
        tracing::warn!(lanes = mended, "lanes without a head go on");
    }
    Ok(mended as u64)
}
