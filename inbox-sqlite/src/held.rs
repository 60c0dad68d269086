use inbox_core::Timestamp;
use inbox_core::message::MessageId;
use inbox_core::settle::{DeadReason, DoneOutcome, ErrorReport};
use inbox_core::store::AfterDead;
use rusqlite::{Connection, Result, Row, params};

use crate::lanes::hand_on;
use crate::ready::Returning;
use crate::row::{blob, message_id, timestamp};
use crate::sql::sql;

/// A delivery that has left `lease`, to go to one other place.
pub(crate) struct Held {
    pub(crate) handler_key: String,
    pub(crate) message_id: MessageId,
    version: i64,
    priority: i64,
    pub(crate) attempt: u32,
    pub(crate) delayed_retries: u32,
    pub(crate) suspect: bool,
    pub(crate) leased_at: Timestamp,
    /// Someone wants no other attempt.
    pub(crate) cancelled: bool,
    /// What becomes of those behind it in its lane.
    after_dead: AfterDead,
    /// Others may wait for its end.
    pub(crate) bound: bool,
}

impl Held {
    /// Reads the columns that every statement on `lease` returns first.
    pub(crate) fn read(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            handler_key: row.get(0)?,
            message_id: message_id(row, 1)?,
            version: row.get(2)?,
            priority: row.get(3)?,
            attempt: row.get(4)?,
            delayed_retries: row.get(5)?,
            suspect: row.get(6)?,
            leased_at: timestamp(row, 7)?,
            cancelled: row.get(8)?,
            after_dead: if row.get(9)? { AfterDead::Block } else { AfterDead::Pass },
            bound: row.get(10)?,
        })
    }

    fn id(&self) -> [u8; 16] {
        blob(self.message_id.as_u128())
    }

    pub(crate) fn return_ready(
        &self,
        connection: &Connection,
        attempts: u32,
        suspect: bool,
    ) -> Result<()> {
        let returning = Returning {
            handler_key: &self.handler_key,
            version: self.version,
            priority: self.priority,
            message_id: self.id(),
            attempts,
            delayed_retries: self.delayed_retries,
            suspect,
        };
        returning.make_ready(connection)
    }

    pub(crate) fn done(
        &self,
        connection: &Connection,
        outcome: DoneOutcome,
        now: Timestamp,
    ) -> Result<()> {
        let took = now.as_micros().saturating_sub(self.leased_at.as_micros()).max(0);
        connection.prepare_cached(sql!("settle_done"))?.execute(params![
            self.id(),
            self.handler_key,
            outcome.as_str(),
            self.attempt,
            took,
            now.as_micros()
        ])?;
        hand_on(connection, self.id(), &self.handler_key, now).map(drop)
    }

    pub(crate) fn retry(
        &self,
        connection: &Connection,
        due_at: Timestamp,
        error: &ErrorReport,
        now: Timestamp,
    ) -> Result<()> {
        connection.prepare_cached(sql!("settle_retry"))?.execute(params![
            self.id(),
            self.handler_key,
            self.version,
            self.priority,
            self.attempt,
            self.delayed_retries.saturating_add(1),
            due_at.as_micros(),
            error.text
        ])?;
        self.record(connection, error, now)
    }

    pub(crate) fn dead(
        &self,
        connection: &Connection,
        reason: DeadReason,
        error: &ErrorReport,
        now: Timestamp,
    ) -> Result<()> {
        connection.prepare_cached(sql!("settle_dead"))?.execute(params![
            self.id(),
            self.handler_key,
            self.version,
            self.priority,
            self.attempt,
            reason.as_str(),
            error.error_type,
            error.text,
            now.as_micros()
        ])?;
        if self.after_dead == AfterDead::Pass {
            hand_on(connection, self.id(), &self.handler_key, now)?;
        }
        self.record(connection, error, now)
    }

    /// Keeps what went wrong with this attempt.
    pub(crate) fn record(
        &self,
        connection: &Connection,
        error: &ErrorReport,
        now: Timestamp,
    ) -> Result<()> {
        connection.prepare_cached(sql!("settle_attempt"))?.execute(params![
            self.id(),
            self.handler_key,
            self.attempt,
            self.leased_at.as_micros(),
            now.as_micros(),
            error.error_type,
            error.text
        ])?;
        Ok(())
    }
}
