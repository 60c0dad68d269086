use inbox_core::Timestamp;
use inbox_core::message::MessageId;
use inbox_core::settle::{DeadReason, DoneOutcome, ErrorReport};
use rusqlite::{Connection, Result, Row, params};

use crate::lanes::hand_on;
use crate::ready::make_ready;
use crate::row::{blob, message_id};
use crate::sql::sql;

/// A delivery that has left its table, to go to another one in the same transaction, with all it takes along.
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
}

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
        })
    }

    pub(crate) fn id(&self) -> [u8; 16] {
        blob(self.message_id.as_u128())
    }

    pub(crate) fn to_ready(&self, connection: &Connection) -> Result<()> {
        let parameters = params![
            self.id(),
            self.handler_key,
            self.version,
            self.priority,
            self.attempts,
            self.crashes,
            self.carry
        ];
        make_ready(connection, sql!("move_to_ready"), parameters).map(drop)
    }

    /// Waits until `due_at`, for a delay or, after an error, for a retry.
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
            due_at.as_micros(),
            if error.is_some() { "retry" } else { "delay" },
            error.map(|error| &error.text)
        ])?;
        Ok(())
    }

    pub(crate) fn to_dead(
        &self,
        connection: &Connection,
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
            reason.as_str(),
            error.error_type,
            error.text,
            now.as_micros()
        ])?;
        Ok(())
    }

    /// Hands its lane on too. Answers whether another delivery has its turn because of that.
    pub(crate) fn to_done(
        &self,
        connection: &Connection,
        outcome: DoneOutcome,
        began: Timestamp,
        now: Timestamp,
    ) -> Result<bool> {
        let took = now.as_micros().saturating_sub(began.as_micros()).max(0);
        connection.prepare_cached(sql!("move_to_done"))?.execute(params![
            self.id(),
            self.handler_key,
            outcome.as_str(),
            self.attempts,
            took,
            now.as_micros()
        ])?;
        hand_on(connection, self.id(), &self.handler_key, now)
    }
}
