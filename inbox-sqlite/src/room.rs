//! How many a worker may lease: as many as the limits of the fleet leave room for.

use std::collections::HashMap;

use inbox_core::store::{Terms, Wanted};
use rusqlite::{Connection, Result, params};

use crate::delivery::Moving;
use crate::sql::sql;

/// The room that one handler's terms leave. Whoever asks holds the file's only place to write, so it stays as
/// it is until then.
pub(crate) struct Room<'a> {
    connection: &'a Connection,
    pub(crate) first_key: String,
    terms: Terms,
    /// How many permits of a tenant's concurrency key are used.
    held: HashMap<(String, String), u32>,
}

impl<'a> Room<'a> {
    pub(crate) fn of(connection: &'a Connection, wanted: &Wanted) -> Result<Self> {
        let mut select = connection.prepare_cached(sql!("first_key"))?;
        let first_key = select.query_row([&wanted.handler_key], |row| row.get(0))?;
        Ok(Self { connection, first_key, terms: wanted.terms, held: HashMap::new() })
    }

    /// Whether someone may wait for the end of such a delivery.
    pub(crate) fn is_limited(&self, concurrency_key: Option<&str>) -> bool {
        self.terms.fleet.is_some() || (self.terms.per_key.is_some() && concurrency_key.is_some())
    }

    /// How many permits of `limit` the fleet has left.
    pub(crate) fn of_fleet(&self, limit: u32) -> Result<u32> {
        let Some(fleet) = self.terms.fleet else { return Ok(limit) };
        let mut count = self.connection.prepare_cached(sql!("held_of_handler"))?;
        let held: u32 = count.query_row(params![self.first_key, fleet], |row| row.get(0))?;
        Ok(limit.min(fleet.get().saturating_sub(held)))
    }

    /// Uses one permit of a delivery's concurrency key, and answers whether there was one. A run that begins with
    /// the delivery takes up no more.
    pub(crate) fn of_key(&mut self, delivery: &Moving) -> Result<bool> {
        let key = delivery.concurrency_key.clone();
        let (Some(limit), Some(key)) = (self.terms.per_key, key) else { return Ok(true) };
        let name = (delivery.tenant.clone(), key);
        let held = match self.held.get(&name) {
            Some(held) => *held,
            None => {
                let mut count = self.connection.prepare_cached(sql!("held_of_key"))?;
                let of_key = params![self.first_key, name.0, name.1, limit];
                count.query_row(of_key, |row| row.get(0))?
            }
        };
        let has_room = held < limit.get();
        self.held.insert(name, held.saturating_add(has_room.into()));
        Ok(has_room)
    }
}
