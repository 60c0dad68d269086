use inbox_core::Timestamp;
use inbox_core::message::MessageId;
use inbox_core::schedule::Start;
use inbox_core::settle::DoneOutcome;
use inbox_core::store::Cancelled;
use rusqlite::{Connection, Result, Row, params};

use crate::lanes::{LaneName, hand_on};
use crate::ready::Returning;
use crate::row::blob;
use crate::sql::sql;
use crate::wake::Turns;

/// Cancels the delivery of one handler, or all of the message.
pub(crate) fn cancel(
    connection: &Connection,
    id: MessageId,
    handler_key: Option<&str>,
    now: Timestamp,
) -> Result<Turns<Cancelled>> {
    let id = blob(id.as_u128());
    let (mut cancelled, mut freed) = (Cancelled::default(), false);
    for take in [sql!("cancel_take_ready"), sql!("cancel_take_waiting")] {
        let mut take = connection.prepare_cached(take)?;
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, LaneName::read(row, 2)?));
        let taken = take.query_map(params![id, handler_key], read)?;
        let taken = taken.collect::<Result<Vec<(String, u32, Option<LaneName>)>>>()?;
        for (key, attempts, lane) in taken {
            let mut done = connection.prepare_cached(sql!("settle_done"))?;
            let outcome = DoneOutcome::Cancelled.as_str();
            done.execute(params![id, key, outcome, attempts, 0, now.as_micros()])?;
            cancelled.at_once += 1;
            freed |= hand_on(connection, id, &key, now)?;
            freed |= lane.map_or(Ok(false), |lane| lane.open(connection))?;
        }
    }
    let mut ask = connection.prepare_cached(sql!("cancel_ask"))?;
    cancelled.asked = ask.execute(params![id, handler_key])? as u64;
    Ok(Turns { answer: cancelled, freed })
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
            let (key, version, priority, attempts, retries, suspect, lane) = row;
            let mut wait = connection.prepare_cached(sql!("reschedule_put_off"))?;
            wait.execute(params![id, key, version, priority, attempts, retries, suspect, due_at])?;
            moved += 1;
            if let Some(lane) = lane {
                lane.open(connection)?;
            }
        }
        return Ok(moved);
    }
    let mut ready = connection.prepare_cached(sql!("reschedule_is_ready"))?;
    let is_ready: i64 = ready.query_row(params![id, handler_key], |row| row.get(0))?;
    moved += is_ready.unsigned_abs();
    for row in taken(connection, sql!("reschedule_take_waiting"), id, handler_key)? {
        let (key, version, priority, attempts, delayed_retries, suspect, _) = row;
        let (handler_key, message_id) = (key.as_str(), id);
        let returning = Returning {
            handler_key,
            version,
            priority,
            message_id,
            attempts,
            delayed_retries,
            suspect,
        };
        returning.make_ready(connection)?;
        moved += 1;
    }
    Ok(moved)
}

/// Handler key, version, priority, attempts, delayed retries, whether it is a suspect and the lane it was
/// ready in, of a delivery that has left its place.
type Taken = (String, i64, i64, u32, u32, bool, Option<LaneName>);

fn taken(
    connection: &Connection,
    take: &str,
    id: [u8; 16],
    handler_key: Option<&str>,
) -> Result<Vec<Taken>> {
    let mut take = connection.prepare_cached(take)?;
    let taken = take.query_map(params![id, handler_key], |row| {
        let (key, version, priority) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (attempts, retries, suspect) = (row.get(3)?, row.get(4)?, row.get(5)?);
        Ok((key, version, priority, attempts, retries, suspect, LaneName::read(row, 6)?))
    })?;
    taken.collect()
}
