use inbox_core::Timestamp;
use rusqlite::{Connection, Result, params};

use crate::delivery::next_position;
use crate::lanes::{LaneName, Touched};
use crate::sql::sql;

/// A message on its way to its handlers: just accepted, or after it has waited for a route.
pub(crate) struct New {
    pub(crate) contract: String,
    pub(crate) version: u32,
    pub(crate) priority: i64,
    pub(crate) message_id: [u8; 16],
    pub(crate) tenant: String,
    pub(crate) ordering_key: Option<String>,
    pub(crate) concurrency_key: Option<String>,
    pub(crate) due_at: Timestamp,
    /// That of its deliveries in their lanes, if it has been given one.
    pub(crate) position: Option<i64>,
}

impl New {
    /// Makes a delivery for every route of the contract, and answers how many.
    pub(crate) fn route(&mut self, connection: &Connection, now: Timestamp) -> Result<usize> {
        if self.due_at > now {
            return connection.prepare_cached(sql!("accept_waiting"))?.execute(params![
                self.contract,
                self.version,
                self.priority,
                self.message_id,
                self.tenant,
                self.ordering_key,
                self.concurrency_key,
                self.due_at.as_micros()
            ]);
        }
        let position = match self.ordering_key {
            Some(_) => Some(self.position(connection)?),
            None => None,
        };
        let mut insert = connection.prepare_cached(sql!("accept_ready"))?;
        let parameters = params![
            self.contract,
            self.version,
            self.priority,
            self.message_id,
            self.tenant,
            self.ordering_key,
            self.concurrency_key,
            position
        ];
        let inserted = insert.query_map(parameters, |row| row.get(0))?;
        let first_keys = inserted.collect::<Result<Vec<String>>>()?;
        let (count, mut lanes) = (first_keys.len(), Touched::default());
        if let Some(ordering_key) = &self.ordering_key {
            for first_key in first_keys {
                let (tenant, ordering_key) = (self.tenant.clone(), ordering_key.clone());
                lanes.add(LaneName { first_key, tenant, ordering_key });
            }
        }
        lanes.hand_on(connection, now)?;
        Ok(count)
    }

    /// It goes behind all that wait for one.
    pub(crate) fn wait_for_a_route(&mut self, connection: &Connection) -> Result<()> {
        let position = self.position(connection)?;
        connection.prepare_cached(sql!("accept_unrouted"))?.execute(params![
            self.contract,
            self.version,
            self.priority,
            self.message_id,
            self.tenant,
            self.ordering_key,
            self.concurrency_key,
            self.due_at.as_micros(),
            position
        ])?;
        Ok(())
    }

    fn position(&mut self, connection: &Connection) -> Result<i64> {
        let position = match self.position {
            Some(position) => position,
            None => next_position(connection)?,
        };
        self.position = Some(position);
        Ok(position)
    }
}
