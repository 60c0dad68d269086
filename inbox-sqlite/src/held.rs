use inbox_core::Timestamp;
use inbox_core::message::MessageId;
use inbox_core::settle::{DoneOutcome, ErrorReport};
use inbox_core::store::{DeliveryState, LeaseToken};
use rusqlite::{Connection, OptionalExtension as _, Result, Row, params};

use crate::delivery::{COLUMNS, Moving};
use crate::lanes::LaneName;
use crate::row::{blob, timestamp};
use crate::sql::sql;

/// A lease that nobody has reclaimed.
pub(crate) struct LeaseRow {
    token: [u8; 16],
    pub(crate) host: String,
    pub(crate) max_crashes: u32,
    /// Whether those behind a dead delivery in its lane wait.
    pub(crate) blocks: bool,
    pub(crate) quarantined: bool,
    /// Whether it was claimed with one delivery and no other.
    pub(crate) alone: bool,
    leased_at: Timestamp,
}

/// A delivery that has left its lease.
pub(crate) struct Held {
    pub(crate) delivery: Moving,
    /// Someone wants no other attempt.
    pub(crate) cancelled: bool,
}

impl Held {
    fn read(row: &Row<'_>) -> Result<Self> {
        Ok(Self { delivery: Moving::read(row)?, cancelled: row.get(COLUMNS)? })
    }
}

impl LeaseRow {
    pub(crate) fn find(connection: &Connection, token: LeaseToken) -> Result<Option<Self>> {
        let mut select = connection.prepare_cached(sql!("lease_of"))?;
        select.query_row([blob(token.as_u128())], Self::read).optional()
    }

    /// At most so many that have expired, the first one first.
    pub(crate) fn expired(
        connection: &Connection,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<Self>> {
        let mut select = connection.prepare_cached(sql!("lease_expired"))?;
        select.query_map(params![now.as_micros(), limit], Self::read)?.collect()
    }

    fn read(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            token: row.get(0)?,
            host: row.get(1)?,
            max_crashes: row.get(2)?,
            blocks: row.get(3)?,
            quarantined: row.get(4)?,
            alone: row.get(5)?,
            leased_at: timestamp(row, 6)?,
        })
    }

    /// The fence of every settlement: nothing, if the lease does not hold this delivery any more.
    pub(crate) fn take(&self, connection: &Connection, id: MessageId) -> Result<Option<Held>> {
        let mut take = connection.prepare_cached(sql!("held_take"))?;
        take.query_row(params![self.token, blob(id.as_u128())], Held::read).optional()
    }

    /// All that it holds, or at most so many of them.
    pub(crate) fn take_all(
        &self,
        connection: &Connection,
        limit: Option<u32>,
    ) -> Result<Vec<Held>> {
        let mut take = connection.prepare_cached(sql!("held_take_all"))?;
        // To SQLite, less than nothing is no limit.
        let limit = limit.map_or(-1, i64::from);
        let taken = take.query_map(params![self.token, limit], Held::read)?;
        let mut taken = taken.collect::<Result<Vec<_>>>()?;
        // RETURNING promises no order.
        taken.sort_by_key(|held| held.delivery.position);
        Ok(taken)
    }

    /// Whether a worker has vanished with any that it still holds of a lane; nothing, if it holds none.
    pub(crate) fn has_crashed(
        &self,
        connection: &Connection,
        lane: &LaneName,
    ) -> Result<Option<bool>> {
        let LaneName { first_key, tenant, ordering_key } = lane;
        let mut select = connection.prepare_cached(sql!("held_of_lane"))?;
        select.query_row(params![self.token, first_key, tenant, ordering_key], |row| row.get(0))
    }

    /// Takes at most so many of what it holds from its worker, who cannot renew it any more.
    pub(crate) fn reclaim(&self, connection: &Connection, limit: u32) -> Result<Vec<Held>> {
        let taken = self.take_all(connection, Some(limit))?;
        if !taken.is_empty() {
            connection.prepare_cached(sql!("lease_reclaimed"))?.execute([self.token])?;
        }
        Ok(taken)
    }

    /// Removes the lease, if nothing is held under it.
    pub(crate) fn end(&self, connection: &Connection) -> Result<()> {
        connection.prepare_cached(sql!("lease_end"))?.execute([self.token]).map(drop)
    }

    pub(crate) fn done(
        &self,
        connection: &Connection,
        delivery: &Moving,
        outcome: DoneOutcome,
        now: Timestamp,
    ) -> Result<()> {
        delivery.to_done(connection, outcome, self.leased_at, now)
    }

    /// Returns a delivery as it came, unless someone wants no other attempt. Answers its state.
    pub(crate) fn give_back(
        &self,
        connection: &Connection,
        Held { mut delivery, cancelled }: Held,
        now: Timestamp,
    ) -> Result<DeliveryState> {
        delivery.attempts = delivery.attempts.saturating_sub(1);
        if cancelled {
            self.done(connection, &delivery, DoneOutcome::Cancelled, now)?;
            return Ok(DeliveryState::Cancelled);
        }
        delivery.to_ready(connection)?;
        Ok(DeliveryState::Pending)
    }

    /// Keeps what went wrong with this attempt.
    pub(crate) fn record(
        &self,
        connection: &Connection,
        delivery: &Moving,
        error: &ErrorReport,
        now: Timestamp,
    ) -> Result<()> {
        connection.prepare_cached(sql!("settle_attempt"))?.execute(params![
            delivery.id(),
            delivery.handler_key,
            delivery.attempts,
            self.host,
            self.leased_at.as_micros(),
            now.as_micros(),
            error.error_type,
            error.text
        ])?;
        Ok(())
    }
}
