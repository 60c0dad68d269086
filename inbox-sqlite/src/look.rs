//! Which of the ready deliveries a claim takes.

use std::cmp::Reverse;
use std::ops::RangeInclusive;

use inbox_core::message::Priority;
use inbox_core::store::{LeaseRequest, Wanted};
use rusqlite::{Connection, Result, params};
use serde_json::{Value, json};

use crate::delivery::Moving;
use crate::lanes::LaneName;
use crate::room::Room;
use crate::sql::sql;

/// A row that has left `ready`.
pub(crate) struct Taken {
    pub(crate) delivery: Moving,
    pub(crate) tenant: String,
    pub(crate) lane: Option<LaneName>,
    pub(crate) concurrency_key: Option<String>,
}

/// Takes up to `limit` deliveries of one key, in their order: those of the priority that comes first, and
/// then of all that are left.
pub(crate) fn take_wanted(
    connection: &Connection,
    request: &LeaseRequest,
    wanted: &Wanted,
    room: &mut Room<'_>,
    limit: u32,
) -> Result<Vec<Taken>> {
    let level = |priority: Priority| i64::from(priority.level());
    let first = request.first.map(|first| level(first)..=level(first));
    let mut taken = Vec::new();
    for priorities in first.into_iter().chain([i64::MIN..=i64::MAX]) {
        let left = (limit as usize).saturating_sub(taken.len());
        let seqs = look(connection, request, wanted, room, &priorities, left)?;
        taken.extend(take(connection, &seqs)?);
    }
    Ok(taken)
}

/// Finds up to `limit` rows whose concurrency keys have room, in their order.
fn look(
    connection: &Connection,
    request: &LeaseRequest,
    wanted: &Wanted,
    room: &mut Room<'_>,
    priorities: &RangeInclusive<i64>,
    limit: usize,
) -> Result<Vec<i64>> {
    let (statement, scopes) = match &request.tenants {
        // Messages without a tenant are not in the index on tenants. A concurrency key is a tenant's own, so
        // each is looked at alone.
        Some(named) if !request.serves("") => {
            (sql!("lease_look_tenant"), named.iter().cloned().map(Some).collect())
        }
        _ => (sql!("lease_look"), vec![tenants(request)]),
    };
    let versions = Value::from(wanted.versions.clone()).to_string();
    let mut found = Vec::new();
    for scope in scopes {
        let mut look = connection.prepare_cached(statement)?;
        let (lowest, highest) = (priorities.start(), priorities.end());
        let parameters = params![wanted.handler_key, versions, scope, lowest, highest];
        let mut rows = look.query(parameters)?;
        let before = found.len();
        while found.len() - before < limit {
            let Some(row) = rows.next()? else { break };
            if room.of_key(row.get(2)?, row.get(3)?)? {
                found.push((Reverse(row.get::<_, i64>(1)?), row.get(0)?));
            }
        }
    }
    found.sort_unstable();
    found.truncate(limit);
    Ok(found.into_iter().map(|(_, seq)| seq).collect())
}

/// Takes up to `most` quarantined deliveries of one key, beginning with the one that has been ready for
/// longest of all keys; that one alone, if three workers vanished with it.
pub(crate) fn take_quarantined<'a>(
    connection: &'a Connection,
    request: &'a LeaseRequest,
    most: u32,
) -> Result<Option<(&'a Wanted, Room<'a>, Vec<Taken>)>> {
    let pairs = request.wanted.iter().flat_map(|wanted| {
        wanted.versions.iter().map(|version| json!([wanted.handler_key, version]))
    });
    let pairs = Value::from(pairs.collect::<Vec<_>>()).to_string();
    let mut look = connection.prepare_cached(sql!("lease_look_quarantined"))?;
    let mut rows = look.query(params![pairs, tenants(request)])?;
    let mut group: Option<(&Wanted, Room<'_>, usize)> = None;
    let mut seqs: Vec<i64> = Vec::new();
    while let Some(row) = rows.next()? {
        let (crashes, key): (u32, String) = (row.get(3)?, row.get(4)?);
        let is_alone = crashes > 2;
        match &mut group {
            None => {
                let Some(wanted) = request.wanted.iter().find(|one| one.handler_key == key) else {
                    continue;
                };
                let mut room = Room::of(connection, wanted)?;
                let size = room.of_fleet(if is_alone { 1 } else { most })?;
                if size == 0 || !room.of_key(row.get(1)?, row.get(2)?)? {
                    continue;
                }
                group = Some((wanted, room, size as usize));
            }
            Some((wanted, room, _)) => {
                let goes_along = !is_alone && wanted.handler_key == key;
                if !goes_along || !room.of_key(row.get(1)?, row.get(2)?)? {
                    continue;
                }
            }
        }
        seqs.push(row.get(0)?);
        if group.as_ref().is_some_and(|(_, _, size)| seqs.len() >= *size) {
            break;
        }
    }
    drop(rows);
    let Some((wanted, room, _)) = group else { return Ok(None) };
    Ok(Some((wanted, room, take(connection, &seqs)?)))
}

/// Takes those that were looked at, in the order of leasing.
fn take(connection: &Connection, seqs: &[i64]) -> Result<Vec<Taken>> {
    if seqs.is_empty() {
        return Ok(Vec::new());
    }
    let mut take = connection.prepare_cached(sql!("lease_take"))?;
    let taken = take.query_map([Value::from(seqs).to_string()], |row| {
        let delivery = Moving::read(row)?;
        let (tenant, lane) = (row.get(8)?, LaneName::read(row, 7)?);
        let order = (Reverse(delivery.priority), row.get::<_, i64>(11)?);
        Ok((order, Taken { delivery, tenant, lane, concurrency_key: row.get(10)? }))
    })?;
    let mut taken = taken.collect::<Result<Vec<_>>>()?;
    // RETURNING promises no order.
    taken.sort_by_key(|(order, _)| *order);
    Ok(taken.into_iter().map(|(_, taken)| taken).collect())
}

/// The tenants that the worker serves, unless all.
fn tenants(request: &LeaseRequest) -> Option<String> {
    Some(Value::from(request.tenants.clone()?).to_string())
}
