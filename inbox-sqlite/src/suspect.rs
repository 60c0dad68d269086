use inbox_core::store::{LeaseRequest, Wanted};
use rusqlite::{Connection, Result, params};
use serde_json::{Value, json};

use crate::room::Room;
use crate::sql::sql;
use crate::taken::{Taken, take_one, tenants};

/// Takes the suspect that has been ready for longest, of all that is wanted and that there is room for.
pub(crate) fn take_suspect<'r>(
    connection: &Connection,
    request: &'r LeaseRequest,
) -> Result<Option<(&'r Wanted, Taken)>> {
    let pairs = request.wanted.iter().flat_map(|wanted| {
        wanted.versions.iter().map(|version| json!([wanted.handler_key, version]))
    });
    let pairs = Value::from(pairs.collect::<Vec<_>>()).to_string();
    let mut look = connection.prepare_cached(sql!("lease_look_suspect"))?;
    let mut rows = look.query(params![pairs, tenants(request)])?;
    while let Some(row) = rows.next()? {
        let (key, version): (String, u32) = (row.get(1)?, row.get(2)?);
        let mut wanted = request.wanted.iter();
        let wanted = wanted.find(|one| one.handler_key == key && one.versions.contains(&version));
        let Some(wanted) = wanted else { continue };
        let mut room = Room::of(connection, wanted)?;
        if room.of_fleet(1)? > 0 && room.of_key(row.get(3)?, row.get(4)?)? {
            let seq = row.get(0)?;
            drop(rows);
            return Ok(take_one(connection, seq)?.map(|taken| (wanted, taken)));
        }
    }
    Ok(None)
}
