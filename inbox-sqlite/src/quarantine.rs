use inbox_core::store::{LeaseRequest, Wanted};
use rusqlite::{Connection, Result, params};
use serde_json::{Value, json};

use crate::look::tenants;
use crate::ready::Ready;
use crate::room::Room;
use crate::sql::sql;

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
