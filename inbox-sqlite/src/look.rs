//! Which of the ready deliveries a claim meets: those without an ordering key, and those in front of their lanes.

use std::cmp::Reverse;
use std::ops::RangeInclusive;

use inbox_core::message::Priority;
use inbox_core::store::{LeaseRequest, Wanted};
use rusqlite::{Connection, Result, Row, Rows, params};
use serde_json::{Value, json};

use crate::delivery::{COLUMNS, Moving};
use crate::room::Room;
use crate::sql::sql;

/// A row of `ready`.
pub(crate) struct Ready {
    pub(crate) seq: i64,
    pub(crate) delivery: Moving,
}

impl Ready {
    /// Reads the columns of a delivery and its number.
    pub(crate) fn read(row: &Row<'_>) -> Result<Self> {
        Ok(Self { seq: row.get(COLUMNS)?, delivery: Moving::read(row)? })
    }

    /// The order of leasing.
    fn turn(&self) -> (Reverse<i64>, i64) {
        (Reverse(self.delivery.priority), self.seq)
    }
}

/// Rows in the order of leasing, read as far as needed.
struct Scan<'s> {
    rows: Rows<'s>,
    next: Option<Ready>,
    of_lanes: bool,
}

impl Scan<'_> {
    fn advance(&mut self) -> Result<Option<Ready>> {
        let next = self.rows.next()?.map(Ready::read).transpose()?;
        Ok(std::mem::replace(&mut self.next, next))
    }
}

/// Finds what a worker may take of one key, in their order: those of the priority that comes first, and then of all
/// that are left. Of each lane, the one in front.
pub(crate) fn look(
    connection: &Connection,
    request: &LeaseRequest,
    wanted: &Wanted,
    room: &mut Room<'_>,
) -> Result<Vec<Ready>> {
    let limit = room.of_fleet(wanted.limit.get())? as usize;
    let level = |priority: Priority| i64::from(priority.level());
    let first = request.first.map(|first| level(first)..=level(first));
    let mut found = Vec::new();
    for priorities in first.into_iter().chain([i64::MIN..=i64::MAX]) {
        if found.len() < limit {
            look_at(connection, request, wanted, room, &priorities, limit, &mut found)?;
        }
    }
    Ok(found)
}

fn look_at(
    connection: &Connection,
    request: &LeaseRequest,
    wanted: &Wanted,
    room: &mut Room<'_>,
    priorities: &RangeInclusive<i64>,
    limit: usize,
    found: &mut Vec<Ready>,
) -> Result<()> {
    let (statement, scopes) = match &request.tenants {
        // Messages without a tenant are not in the index on tenants.
        Some(named) if !request.serves("") => {
            (sql!("lease_look_tenant"), named.iter().cloned().map(Some).collect())
        }
        _ => (sql!("lease_look"), vec![tenants(request)]),
    };
    let versions = Value::from(wanted.versions.clone()).to_string();
    let scopes = scopes.into_iter().flat_map(|scope| [(scope.clone(), false), (scope, true)]);
    let scopes: Vec<_> = scopes.collect();
    let mut statements = Vec::new();
    for _ in &scopes {
        statements.push(connection.prepare_cached(statement)?);
    }
    let mut scans = Vec::new();
    for (statement, (scope, of_lanes)) in statements.iter_mut().zip(scopes) {
        let (lowest, highest) = (priorities.start(), priorities.end());
        let key = &wanted.handler_key;
        let rows = statement.query(params![key, versions, scope, lowest, highest, of_lanes])?;
        let mut scan = Scan { rows, next: None, of_lanes };
        scan.advance()?;
        scans.push(scan);
    }
    let most = wanted.terms.runs.lanes.get() as usize;
    let known: Vec<i64> = found.iter().map(|ready| ready.seq).collect();
    let mut lanes = found.iter().filter(|ready| ready.delivery.ordering_key.is_some()).count();
    while found.len() < limit {
        let open = scans.iter_mut().filter(|scan| !scan.of_lanes || lanes < most);
        let next = open.filter_map(|scan| Some((scan.next.as_ref()?.turn(), scan)));
        let Some((_, scan)) = next.min_by_key(|(turn, _)| *turn) else { break };
        let of_lanes = scan.of_lanes;
        let Some(ready) = scan.advance()? else { break };
        if !known.contains(&ready.seq) && room.of_key(&ready.delivery)? {
            lanes += usize::from(of_lanes);
            found.push(ready);
        }
    }
    Ok(())
}

/// Finds up to `most` quarantined deliveries of one key, beginning with the one that has been ready for
/// longest of all keys; that one alone, if three workers vanished with it.
pub(crate) fn look_at_quarantined<'a>(
    connection: &'a Connection,
    request: &'a LeaseRequest,
    most: u32,
) -> Result<Option<(&'a Wanted, Room<'a>, Vec<Ready>)>> {
    let pairs = request.wanted.iter().flat_map(|wanted| {
        wanted.versions.iter().map(|version| json!([wanted.handler_key, version]))
    });
    let pairs = Value::from(pairs.collect::<Vec<_>>()).to_string();
    let mut look = connection.prepare_cached(sql!("lease_look_quarantined"))?;
    let mut rows = look.query(params![pairs, tenants(request)])?;
    let mut group: Option<(&Wanted, Room<'_>, usize)> = None;
    let mut found: Vec<Ready> = Vec::new();
    while let Some(row) = rows.next()? {
        let ready = Ready::read(row)?;
        let (is_alone, key) = (ready.delivery.crashes > 2, &ready.delivery.handler_key);
        match &mut group {
            None => {
                let Some(wanted) = request.wanted.iter().find(|one| one.handler_key == *key) else {
                    continue;
                };
                let mut room = Room::of(connection, wanted)?;
                let size = room.of_fleet(if is_alone { 1 } else { most })?;
                if size == 0 || !room.of_key(&ready.delivery)? {
                    continue;
                }
                group = Some((wanted, room, size as usize));
            }
            Some((wanted, room, _)) => {
                let goes_along = !is_alone && wanted.handler_key == *key;
                if !goes_along || !room.of_key(&ready.delivery)? {
                    continue;
                }
            }
        }
        found.push(ready);
        if group.as_ref().is_some_and(|(_, _, size)| found.len() >= *size) {
            break;
        }
    }
    Ok(group.map(|(wanted, room, _)| (wanted, room, found)))
}

/// The tenants that the worker serves, unless all.
fn tenants(request: &LeaseRequest) -> Option<String> {
    Some(Value::from(request.tenants.clone()?).to_string())
}
