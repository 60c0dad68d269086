//! Lanes: who is at the head of each, and who comes next.

use inbox_core::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Result, Row, params};

use crate::delivery::Moving;
use crate::sql::sql;

/// Names a lane by the key that its handler had first.
pub(crate) struct LaneName {
    pub(crate) first_key: String,
    pub(crate) tenant: String,
    pub(crate) ordering_key: String,
}

impl LaneName {
    /// Reads first key, tenant and ordering key; nothing, if there is no ordering key.
    pub(crate) fn read(row: &Row<'_>, at: usize) -> Result<Option<Self>> {
        let Some(ordering_key) = row.get(at + 2)? else { return Ok(None) };
        Ok(Some(Self { first_key: row.get(at)?, tenant: row.get(at + 1)?, ordering_key }))
    }

    /// Makes a delivery that is leased the head. Answers whether it is: nobody else may be.
    pub(crate) fn enter(
        &self,
        connection: &Connection,
        delivery: &Moving,
        now: Timestamp,
    ) -> Result<bool> {
        let Self { first_key, tenant, ordering_key } = self;
        let (id, head_key) = (delivery.id(), &delivery.handler_key);
        let mut enter = connection.prepare_cached(sql!("lane_enter"))?;
        let is_head = params![first_key, tenant, ordering_key, id, head_key, now.as_micros()];
        Ok(enter.execute(is_head)? > 0)
    }

    /// Brings the oldest to the front, if the lane has neither a head nor a front.
    pub(crate) fn open(&self, connection: &Connection) -> Result<bool> {
        let Self { first_key, tenant, ordering_key } = self;
        let mut open = connection.prepare_cached(sql!("lane_open"))?;
        Ok(open.execute([first_key, tenant, ordering_key])? > 0)
    }

    /// Makes the oldest the head, or ends the lane. Answers whether there is one.
    fn pass(&self, connection: &Connection, now: Timestamp) -> Result<bool> {
        let Self { first_key, tenant, ordering_key } = self;
        let mut next = connection.prepare_cached(sql!("lane_next"))?;
        let next: Option<([u8; 16], String)> = next
            .query_row([first_key, tenant, ordering_key], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((id, key)) = next else {
            let mut end = connection.prepare_cached(sql!("lane_end"))?;
            end.execute([first_key, tenant, ordering_key])?;
            return Ok(false);
        };
        let mut pass = connection.prepare_cached(sql!("lane_pass"))?;
        pass.execute(params![first_key, tenant, ordering_key, id, key, now.as_micros()])?;
        Ok(true)
    }
}

/// Hands on the lane of a delivery that has come to its end, if it was the head of one. Answers whether
/// someone else has a turn because of it.
pub(crate) fn hand_on(
    connection: &Connection,
    id: [u8; 16],
    head_key: &str,
    now: Timestamp,
) -> Result<bool> {
    let mut select = connection.prepare_cached(sql!("lane_of_head"))?;
    let lanes = select.query_map(params![id, head_key], |row| LaneName::read(row, 0))?;
    let mut has_next = false;
    for lane in lanes.collect::<Result<Vec<_>>>()?.into_iter().flatten() {
        has_next |= lane.pass(connection, now)?;
    }
    Ok(has_next)
}
