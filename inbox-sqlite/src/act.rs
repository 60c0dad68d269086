use inbox_core::Timestamp;
use inbox_core::message::MessageId;
use inbox_core::schedule::Start;
use inbox_core::settle::DoneOutcome;
use inbox_core::store::Cancelled;
use rusqlite::{Connection, Params, Result, params};

use crate::delivery::Moving;
use crate::lanes::Touched;
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
    let (mut cancelled, mut lanes) = (Cancelled::default(), Touched::default());
    let mut taken = take(connection, sql!("act_take_ready"), params![id, handler_key])?;
    taken.extend(take(connection, sql!("act_take_waiting"), params![id, handler_key, true])?);
    for delivery in &taken {
        cancelled.at_once += 1;
        delivery.to_done(connection, DoneOutcome::Cancelled, now, now)?;
        lanes.by(delivery);
    }
    let freed = lanes.hand_on(connection, now)?;
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
    let waits = due_at > now;
    let mut put_off = connection.prepare_cached(sql!("reschedule_waiting"))?;
    let put_off = put_off.execute(params![id, handler_key, due_at.as_micros(), waits])?;
    let mut moved = put_off as u64;
    let taken = if waits {
        take(connection, sql!("act_take_ready"), params![id, handler_key])?
    } else {
        let mut ready = connection.prepare_cached(sql!("reschedule_is_ready"))?;
        let is_ready: i64 = ready.query_row(params![id, handler_key], |row| row.get(0))?;
        moved += is_ready.unsigned_abs();
        take(connection, sql!("act_take_waiting"), params![id, handler_key, false])?
    };
    let mut lanes = Touched::default();
    for delivery in &taken {
        match waits {
            true => delivery.to_waiting(connection, due_at, None)?,
            false => delivery.to_ready(connection)?,
        }
        lanes.by(delivery);
        moved += 1;
    }
    lanes.hand_on(connection, now)?;
    Ok(moved)
}

/// Deliveries that have left their table.
fn take(connection: &Connection, take: &str, parameters: impl Params) -> Result<Vec<Moving>> {
    connection.prepare_cached(take)?.query_map(parameters, Moving::read)?.collect()
}
