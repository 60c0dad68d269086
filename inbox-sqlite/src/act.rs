use inbox_core::Timestamp;
use inbox_core::message::MessageId;
use inbox_core::schedule::Start;
use inbox_core::settle::DoneOutcome;
use inbox_core::store::Cancelled;
use rusqlite::{Connection, Result, Row, params};

use crate::row::blob;
use crate::sql::sql;

/// Cancels the delivery of one handler, or all of the message.
pub(crate) fn cancel(
    connection: &Connection,
    id: MessageId,
    handler_key: Option<&str>,
    now: Timestamp,
) -> Result<Cancelled> {
    let id = blob(id.as_u128());
    let mut cancelled = Cancelled::default();
    for take in [sql!("cancel_take_ready"), sql!("cancel_take_waiting")] {
        let mut take = connection.prepare_cached(take)?;
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let taken = take.query_map(params![id, handler_key], read)?;
        for (key, attempts) in taken.collect::<Result<Vec<(String, u32)>>>()? {
            let mut done = connection.prepare_cached(sql!("settle_done"))?;
            let outcome = DoneOutcome::Cancelled.as_str();
            done.execute(params![id, key, outcome, attempts, 0, now.as_micros()])?;
            cancelled.at_once += 1;
        }
    }
    let mut ask = connection.prepare_cached(sql!("cancel_ask"))?;
    cancelled.asked = ask.execute(params![id, handler_key])? as u64;
    Ok(cancelled)
}

/// Gives the delivery of one handler, or all of the message, another start.
pub(crate) fn reschedule(
    connection: &Connection,
    id: MessageId,
    handler_key: Option<&str>,
    start: Start,
    now: Timestamp,
) -> Result<u64> {
    let id = blob(id.as_u128());
    let due_at = start.due_at(now);
    let (waits, due_at) = (due_at > now, due_at.as_micros());
    let mut put_off = connection.prepare_cached(sql!("reschedule_waiting"))?;
    let mut moved = put_off.execute(params![id, handler_key, due_at, waits])? as u64;
    if waits {
        for row in taken(connection, sql!("reschedule_take_ready"), id, handler_key)? {
            let (key, version, priority, attempts, retries, suspect) = row;
            let mut wait = connection.prepare_cached(sql!("reschedule_put_off"))?;
            wait.execute(params![id, key, version, priority, attempts, retries, suspect, due_at])?;
            moved += 1;
        }
        return Ok(moved);
    }
    let mut ready = connection.prepare_cached(sql!("reschedule_is_ready"))?;
    let is_ready: i64 = ready.query_row(params![id, handler_key], |row| row.get(0))?;
    moved += is_ready.unsigned_abs();
    for row in taken(connection, sql!("reschedule_take_waiting"), id, handler_key)? {
        let (key, version, priority, attempts, retries, suspect) = row;
        let mut ready = connection.prepare_cached(sql!("return_ready"))?;
        ready.execute(params![key, version, priority, id, attempts, retries, suspect])?;
        moved += 1;
    }
    Ok(moved)
}

/// Handler key, version, priority, attempts, delayed retries and whether it is a suspect, of a delivery
/// that has left its place.
type Taken = (String, i64, i64, u32, u32, bool);

fn taken(
    connection: &Connection,
    take: &str,
    id: [u8; 16],
    handler_key: Option<&str>,
) -> Result<Vec<Taken>> {
    let mut take = connection.prepare_cached(take)?;
    let taken = take.query_map(params![id, handler_key], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
    })?;
    taken.collect()
}
