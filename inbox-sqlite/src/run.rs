//! What a claim takes of each lane that it wins.

use std::result::Result as StdResult;

use inbox_core::Timestamp;
use inbox_core::message::{Carry, MessageId};
use inbox_core::store::{LeaseRequest, StoredMessage, Wanted};
use rusqlite::{Connection, OptionalExtension as _, Result, params};

use crate::lanes::{LaneName, Touched};
use crate::ready::Ready;
use crate::row::{blob, stored_message};
use crate::sql::sql;

/// A row of `ready` that a worker is given, with its message, or what is wrong with that.
pub(crate) struct Taken {
    pub(crate) ready: Ready,
    pub(crate) stored: StdResult<(StoredMessage, Carry), String>,
}

/// Puts the runs of their lanes in place of those in front, of as many as there is room for.
pub(crate) fn take_runs(
    connection: &Connection,
    request: &LeaseRequest,
    wanted: &Wanted,
    fronts: Vec<Ready>,
    now: Timestamp,
) -> Result<Vec<Taken>> {
    let of_lane = |ready: &&Ready| ready.delivery.ordering_key.is_some();
    let lanes = u32::try_from(fronts.iter().filter(of_lane).count()).unwrap_or(u32::MAX);
    let others = u32::try_from(fronts.len()).unwrap_or(u32::MAX).saturating_sub(lanes);
    let length = wanted.terms.runs.length_of(lanes, wanted.limit.get().saturating_sub(others));
    let (mut taken, mut lost) = (Vec::new(), Touched::default());
    for front in fronts {
        let Some(lane) = front.delivery.lane() else {
            taken.push(Taken::of(connection, front)?);
            continue;
        };
        if !lane.win(connection, &front.delivery, now)? {
            lost.add(lane);
        } else if front.delivery.crashes >= 2 {
            // Quarantined, it is a run of its own.
            taken.push(Taken::of(connection, front)?);
        } else {
            taken.extend(run(connection, request, wanted, &lane, front, length)?);
        }
    }
    // Someone else holds them, and one was in front all the same: it was put there by hand.
    lost.hand_on(connection, now)?;
    let seqs: Vec<i64> = taken.iter().map(|one| one.ready.seq).collect();
    if !seqs.is_empty() {
        let seqs = serde_json::Value::from(seqs).to_string();
        connection.prepare_cached(sql!("lease_take"))?.execute([seqs])?;
    }
    Ok(taken)
}

/// The oldest of a lane up to the first that this worker may not take with them.
fn run(
    connection: &Connection,
    request: &LeaseRequest,
    wanted: &Wanted,
    lane: &LaneName,
    front: Ready,
    length: u32,
) -> Result<Vec<Taken>> {
    let ready = if length == 1 {
        vec![front]
    } else {
        let LaneName { first_key, tenant, ordering_key } = lane;
        let mut select = connection.prepare_cached(sql!("lane_run"))?;
        let of_lane = params![first_key, tenant, ordering_key, front.delivery.position, length];
        select.query_map(of_lane, Ready::read)?.collect::<Result<Vec<_>>>()?
    };
    let mut run: Vec<Taken> = Vec::new();
    for one in ready {
        if !run.is_empty() && !goes_along(request, wanted, &run, &one) {
            break;
        }
        let one = Taken::of(connection, one)?;
        let is_readable = one.stored.is_ok();
        if is_readable || run.is_empty() {
            run.push(one);
        }
        if !is_readable {
            break;
        }
    }
    Ok(run)
}

/// Whether this worker may take it, right behind the others of the run.
fn goes_along(request: &LeaseRequest, wanted: &Wanted, run: &[Taken], next: &Ready) -> bool {
    let next = &next.delivery;
    let reads = |one: &Wanted| {
        let versions = &mut one.versions.iter();
        one.handler_key == next.handler_key && versions.any(|one| i64::from(*one) == next.version)
    };
    let is_like = |one: &Taken| one.ready.delivery.concurrency_key == next.concurrency_key;
    let is_same = |one: &Taken| one.ready.delivery.message_id == next.message_id;
    request.wanted.iter().any(reads)
        && next.crashes < 2
        && (wanted.terms.per_key.is_none() || run.iter().all(is_like))
        // A message that is there under two keys of the handler: a token settles it by its id.
        && !run.iter().any(is_same)
}

impl Taken {
    fn of(connection: &Connection, ready: Ready) -> Result<Self> {
        let id = ready.delivery.message_id;
        let stored = message(connection, id)?.and_then(|stored| {
            let carry = Carry::from_json(ready.delivery.carry.as_deref());
            let unreadable = |error| format!("the carry of message {id} cannot be read: {error}");
            Ok((stored, carry.map_err(unreadable)?))
        });
        Ok(Self { ready, stored })
    }
}

/// The message, or what is wrong with its row. A damaged row must not keep others from their turn.
fn message(connection: &Connection, id: MessageId) -> Result<StdResult<StoredMessage, String>> {
    let mut select = connection.prepare_cached(sql!("message"))?;
    match select.query_row([blob(id.as_u128())], stored_message).optional() {
        Ok(Some(stored)) => Ok(Ok(stored)),
        Ok(None) => Ok(Err(format!("message {id} is gone: its row was deleted"))),
        Err(error) if error.sqlite_error().is_some() => Err(error),
        Err(error) => Ok(Err(format!("the row of message {id} cannot be read: {error}"))),
    }
}
