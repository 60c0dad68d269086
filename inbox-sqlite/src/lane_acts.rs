//! What people and their tools do with lanes.

use inbox_core::Timestamp;
use inbox_core::store::{Lane, LaneFilter, LaneRecord};
use rusqlite::{Connection, Result, Row, params};

use crate::inspect::state;
use crate::lanes::{LaneName, Touched};
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
pub(crate) fn unblock(connection: &Connection, lane: &Lane, now: Timestamp) -> Result<bool> {
    let mut first = connection.prepare_cached(sql!("first_key"))?;
    let first_key: String = first.query_row([&lane.handler_key], |row| row.get(0))?;
    let mut unblock = connection.prepare_cached(sql!("lane_unblock"))?;
    if unblock.execute([&first_key, &lane.tenant, &lane.ordering_key])? == 0 {
        return Ok(false);
    }
    let (tenant, ordering_key) = (lane.tenant.clone(), lane.ordering_key.clone());
    let mut lanes = Touched::default();
    lanes.add(LaneName { first_key, tenant, ordering_key });
    lanes.hand_on(connection, now)?;
    Ok(true)
}

/// Brings back lanes that nobody would. Verbs are transactions, so this is for what was changed by hand.
pub(crate) fn mend(connection: &Connection, limit: u32, now: Timestamp) -> Result<u64> {
    let (mut mended, mut lanes) = (0_u64, Touched::default());
    let mut lost = connection.prepare_cached(sql!("lanes_lost"))?;
    for lane in lost.query_map([limit], LaneName::read)? {
        lanes.add(lane?);
        mended += 1;
    }
    lanes.hand_on(connection, now)?;
    if mended > 0 {
        tracing::warn!(lanes = mended, "lanes without a head go on");
    }
    Ok(mended)
}
