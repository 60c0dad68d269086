use std::str::FromStr as _;
use std::time::Duration;

use inbox_core::message::MessageId;
use inbox_core::schedule::Start;
use inbox_core::store::{
    AttemptRecord, Cancelled, DeliveryCount, DeliveryFilter, DeliveryRecord, DeliveryState,
    HostRecord, Inspect, KnownRoute, Lane, LaneFilter, LaneRecord, MessageRecord, Page,
    RouteRecord, StoreFuture,
};
use inbox_core::{Now, Timestamp};
use rusqlite::types::Type;
use rusqlite::{Connection, Error, OptionalExtension as _, Result, Row, params};

use crate::act::{cancel, reschedule};
use crate::delivery::Moving;
use crate::lane_acts;
use crate::lanes::Touched;
use crate::row::{blob, message_id, optional_timestamp, stored_message, timestamp};
use crate::sql::sql;
use crate::{SqliteStore, fleet, routes};

impl Inspect for SqliteStore {
    fn show(&self, id: MessageId) -> StoreFuture<'_, Option<MessageRecord>> {
        Box::pin(self.read(move |connection| show(connection, id)))
    }

    fn list(&self, filter: DeliveryFilter) -> StoreFuture<'_, Page> {
        Box::pin(self.read(move |connection| list(connection, &filter)))
    }

    fn counts(&self) -> StoreFuture<'_, Vec<DeliveryCount>> {
        Box::pin(self.read(|connection| {
            let mut select = connection.prepare_cached(sql!("counts"))?;
            let counts = select.query_map([], |row| {
                let (handler_key, state) = (handler_key(row, 0)?, state(row, 1)?);
                Ok(DeliveryCount {
                    handler_key,
                    state,
                    count: row.get::<_, i64>(2)?.unsigned_abs(),
                })
            })?;
            let mut counts = counts.collect::<Result<Vec<_>>>()?;
            counts.sort();
            Ok(counts)
        }))
    }

    fn retry(&self, id: MessageId, handler_key: &str, now: Now) -> StoreFuture<'_, bool> {
        let handler_key = handler_key.to_owned();
        Box::pin(self.write_and_ring(move |connection| {
            retry(connection, id, &handler_key, now.or_else(Timestamp::now))
        }))
    }

    fn cancel(
        &self,
        id: MessageId,
        handler_key: Option<&str>,
        now: Now,
    ) -> StoreFuture<'_, Cancelled> {
        let key = handler_key.map(str::to_owned);
        Box::pin(async move {
            let cancelled = self.write_and_ring(move |connection| {
                cancel(connection, id, key.as_deref(), now.or_else(Timestamp::now))
            });
            Ok(cancelled.await?.answer)
        })
    }

    fn reschedule(
        &self,
        id: MessageId,
        handler_key: Option<&str>,
        start: Start,
        now: Now,
    ) -> StoreFuture<'_, u64> {
        let key = handler_key.map(str::to_owned);
        Box::pin(self.write_and_ring(move |connection| {
            reschedule(connection, id, key.as_deref(), start, now.or_else(Timestamp::now))
        }))
    }

    fn routes(&self, alive_for: Duration, now: Now) -> StoreFuture<'_, Vec<RouteRecord>> {
        let alive_since = fleet::before(now.or_else(Timestamp::now), alive_for);
        Box::pin(self.read(move |connection| fleet::routes(connection, alive_since)))
    }

    fn retire(&self, contract: &str, key: &str, _: Now) -> StoreFuture<'_, Vec<KnownRoute>> {
        let (contract, key) = (contract.to_owned(), key.to_owned());
        let retired =
            self.write(move |connection| routes::change(connection, &contract, &key, false));
        Box::pin(async move { retired.await? })
    }

    fn restore(&self, contract: &str, key: &str, now: Now) -> StoreFuture<'_, Vec<KnownRoute>> {
        let (contract, key) = (contract.to_owned(), key.to_owned());
        let restored =
            self.write(move |connection| routes::change(connection, &contract, &key, true));
        Box::pin(async move {
            let known = restored.await??;
            self.route_all(now).await?;
            Ok(known)
        })
    }

    fn hosts(&self) -> StoreFuture<'_, Vec<HostRecord>> {
        Box::pin(self.read(fleet::hosts))
    }

    fn lanes(&self, filter: LaneFilter) -> StoreFuture<'_, Vec<LaneRecord>> {
        Box::pin(self.read(move |connection| lane_acts::list(connection, &filter)))
    }

    fn unblock(&self, lane: &Lane, now: Now) -> StoreFuture<'_, bool> {
        let lane = lane.clone();
        Box::pin(self.write_and_ring(move |connection| {
            lane_acts::unblock(connection, &lane, now.or_else(Timestamp::now))
        }))
    }
}

fn show(connection: &Connection, id: MessageId) -> Result<Option<MessageRecord>> {
    let key = [blob(id.as_u128())];
    let mut select = connection.prepare_cached(sql!("message"))?;
    let Some(stored) = select.query_row(key, stored_message).optional()? else { return Ok(None) };
    let mut select = connection.prepare_cached(sql!("show_deliveries"))?;
    let deliveries = select.query_map(key, delivery)?.collect::<Result<_>>()?;
    let mut select = connection.prepare_cached(sql!("show_attempts"))?;
    let attempts = select.query_map(key, attempt)?.collect::<Result<_>>()?;
    Ok(Some(MessageRecord { stored, deliveries, attempts }))
}

fn list(connection: &Connection, filter: &DeliveryFilter) -> Result<Page> {
    let size = filter.page_size();
    let after = filter.after.as_ref();
    let mut select = connection.prepare_cached(sql!("list"))?;
    // One more than fits says whether there is a next page.
    let found = select.query_map(
        params![
            filter.state.map(DeliveryState::as_str),
            filter.handler_key,
            filter.contract,
            after.map(|cursor| blob(cursor.message_id.as_u128())),
            after.map(|cursor| cursor.handler_key.as_deref().unwrap_or_default()),
            size + 1,
        ],
        delivery,
    )?;
    Ok(Page::of(found.collect::<Result<_>>()?, size))
}

fn retry(
    connection: &Connection,
    id: MessageId,
    handler_key: &str,
    now: Timestamp,
) -> Result<bool> {
    let mut take = connection.prepare_cached(sql!("retry_take"))?;
    let taken =
        take.query_row(params![blob(id.as_u128()), handler_key], Moving::read).optional()?;
    let Some(delivery) = taken else { return Ok(false) };
    delivery.to_ready(connection)?;
    let mut lanes = Touched::default();
    lanes.by(&delivery);
    lanes.hand_on(connection, now)?;
    Ok(true)
}

fn delivery(row: &Row<'_>) -> Result<DeliveryRecord> {
    Ok(DeliveryRecord {
        message_id: message_id(row, 0)?,
        handler_key: handler_key(row, 1)?,
        // Gone with its message.
        contract: row.get::<_, Option<String>>(2)?.unwrap_or_default(),
        state: state(row, 3)?,
        attempts: row.get(4)?,
        due_at: optional_timestamp(row, 5)?,
        lease_expires_at: optional_timestamp(row, 6)?,
        settled_at: optional_timestamp(row, 7)?,
        reason: row.get(8)?,
        error: row.get(9)?,
    })
}

fn attempt(row: &Row<'_>) -> Result<AttemptRecord> {
    Ok(AttemptRecord {
        handler_key: row.get(0)?,
        attempt: row.get(1)?,
        host: row.get(2)?,
        leased_at: timestamp(row, 3)?,
        settled_at: timestamp(row, 4)?,
        error_type: row.get(5)?,
        error: row.get(6)?,
    })
}

fn handler_key(row: &Row<'_>, at: usize) -> Result<Option<String>> {
    Ok(Some(row.get::<_, String>(at)?).filter(|key| !key.is_empty()))
}

pub(crate) fn state(row: &Row<'_>, at: usize) -> Result<DeliveryState> {
    let text: String = row.get(at)?;
    DeliveryState::from_str(&text)
        .map_err(|error| Error::FromSqlConversionFailure(at, Type::Text, error.into()))
}
