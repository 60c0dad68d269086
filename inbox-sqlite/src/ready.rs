use rusqlite::{Connection, Params, Result};

use crate::lanes::LaneName;

/// Runs a statement that puts rows into `ready`, and answers how many. Those with an ordering key are behind
/// their lanes: one that is alone there comes to the front.
pub(crate) fn make_ready(
    connection: &Connection,
    insert: &str,
    parameters: impl Params,
) -> Result<usize> {
    let mut insert = connection.prepare_cached(insert)?;
    let inserted = insert.query_map(parameters, |row| {
        let behind: bool = row.get(3)?;
        Ok(if behind { LaneName::read(row, 0)? } else { None })
    })?;
    let lanes = inserted.collect::<Result<Vec<_>>>()?;
    for lane in lanes.iter().flatten() {
        lane.open(connection)?;
    }
    Ok(lanes.len())
}
