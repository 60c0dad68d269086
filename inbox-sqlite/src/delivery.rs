use inbox_core::Timestamp;
use inbox_core::message::MessageId;
use inbox_core::settle::{DeadReason, DoneOutcome, ErrorReport};
use rusqlite::{Connection, Result, Row, params};

use crate::lanes::LaneName;
use crate::row::{blob, message_id};
use crate::sql::sql;

/// A delivery that has left its table, to go to another one in the same transaction, with all it takes along.
/// Whoever moves it hands on its lane.
pub(crate) struct Moving {
    pub(crate) message_id: MessageId,
    pub(crate) handler_key: String,
    pub(crate) version: i64,
    pub(crate) priority: i64,
    pub(crate) attempts: u32,
    /// Workers that vanished with it, in a row.
    pub(crate) crashes: u32,
    /// As it is stored: nothing here looks into it.
    pub(crate) carry: Option<String>,
    pub(crate) tenant: String,
    pub(crate) first_key: String,
    pub(crate) ordering_key: Option<String>,
    pub(crate) concurrency_key: Option<String>,
    /// That in its lane, if it has been given one that still counts.
    pub(crate) position: Option<i64>,
}

/// So many columns has a [`Moving`].
pub(crate) const COLUMNS: usize = 12;

impl Moving {
    /// Reads the columns that every statement returns first which takes deliveries from a table.
    pub(crate) fn read(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            message_id: message_id(row, 0)?,
            handler_key: row.get(1)?,
            version: row.get(2)?,
            priority: row.get(3)?,
            attempts: row.get(4)?,
            crashes: row.get(5)?,
            carry: row.get(6)?,
            tenant: row.get(7)?,
            first_key: row.get(8)?,
            ordering_key: row.get(9)?,
            concurrency_key: row.get(10)?,
            position: row.get(11)?,
        })
    }

    pub(crate) fn id(&self) -> [u8; 16] {
        blob(self.message_id.as_u128())
    }

    pub(crate) fn lane(&self) -> Option<LaneName> {
        let ordering_key = self.ordering_key.clone()?;
        Some(LaneName {
            first_key: self.first_key.clone(),
            tenant: self.tenant.clone(),
            ordering_key,
        })
    }

    /// One of a lane keeps its position; one without begins anew, behind all others.
    pub(crate) fn to_ready(&self, connection: &Connection) -> Result<()> {
        let position = match (&self.ordering_key, self.position) {
            (Some(_), None) => Some(next_position(connection)?),
            (Some(_), position) => position,
            (None, _) => None,
        };
        connection.prepare_cached(sql!("move_to_ready"))?.execute(params![
            self.id(),
            self.handler_key,
            self.version,
            self.priority,
            self.attempts,
            self.crashes,
            self.carry,
            self.tenant,
            self.first_key,
            self.ordering_key,
            self.concurrency_key,
            position
        ])?;
        Ok(())
    }

    /// Waits until `due_at`: after an error for a retry, and otherwise to begin only then.
    pub(crate) fn to_waiting(
        &self,
        connection: &Connection,
        due_at: Timestamp,
        error: Option<&ErrorReport>,
    ) -> Result<()> {
        connection.prepare_cached(sql!("move_to_waiting"))?.execute(params![
            self.id(),
            self.handler_key,
            self.version,
            self.priority,
            self.attempts,
            self.crashes,
            self.carry,
            self.tenant,
            self.first_key,
            self.ordering_key,
            self.concurrency_key,
            self.position.filter(|_| error.is_some()),
            due_at.as_micros(),
            if error.is_some() { "retry" } else { "delay" },
            error.map(|error| &error.text)
        ])?;
        Ok(())
    }

    /// If it `blocks`, what is behind it in its lane waits for what is decided about it.
    pub(crate) fn to_dead(
        &self,
        connection: &Connection,
        blocks: bool,
        reason: DeadReason,
        error: &ErrorReport,
        now: Timestamp,
    ) -> Result<()> {
        connection.prepare_cached(sql!("move_to_dead"))?.execute(params![
            self.id(),
            self.handler_key,
            self.version,
            self.priority,
            self.attempts,
            self.tenant,
            self.first_key,
            self.ordering_key,
            self.concurrency_key,
            self.position.filter(|_| blocks),
            reason.as_str(),
            error.error_type,
            error.text,
            now.as_micros()
        ])?;
        Ok(())
    }

    pub(crate) fn to_done(
        &self,
        connection: &Connection,
        outcome: DoneOutcome,
        began: Timestamp,
        now: Timestamp,
    ) -> Result<()> {
        let took = now.as_micros().saturating_sub(began.as_micros()).max(0);
        connection.prepare_cached(sql!("move_to_done"))?.execute(params![
            self.id(),
            self.handler_key,
            outcome.as_str(),
            self.attempts,
            took,
            now.as_micros()
        ])?;
        Ok(())
    }
}

/// A position that is behind all that were given before.
pub(crate) fn next_position(connection: &Connection) -> Result<i64> {
    connection.prepare_cached(sql!("position_next"))?.query_row([], |row| row.get(0))
}
