use rusqlite::{Connection, Params, Result, params};

use crate::lanes::LaneName;
use crate::sql::sql;

/// A delivery that becomes ready again.
pub(crate) struct Returning<'a> {
    pub(crate) handler_key: &'a str,
    pub(crate) version: i64,
    pub(crate) priority: i64,
    pub(crate) message_id: [u8; 16],
    pub(crate) attempts: u32,
    pub(crate) delayed_retries: u32,
    pub(crate) suspect: bool,
}

impl Returning<'_> {
    /// (lease, waiting or dead) → ready.
    pub(crate) fn make_ready(&self, connection: &Connection) -> Result<()> {
        let parameters = params![
            self.handler_key,
            self.version,
            self.priority,
            self.message_id,
            self.attempts,
            self.delayed_retries,
            self.suspect
        ];
        make_ready(connection, sql!("return_ready"), parameters).map(drop)
    }
}

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
