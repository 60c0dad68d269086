use std::str::FromStr as _;
use std::time::Duration;

use inbox_core::Now;
use inbox_core::message::MessageId;
use inbox_core::schedule::Start;
use inbox_core::store::{
    AttemptRecord, Cancelled, DeliveryCount, DeliveryFilter, DeliveryRecord, DeliveryState,
    HostRecord, Inspect, KnownRoute, Lane, LaneFilter, LaneRecord, MessageRecord, Page,
    RouteRecord, StoreFuture,
};
use tokio_postgres::Row;

use crate::PostgresStore;
use crate::act::Act;
use crate::row::{column, count, message_id, optional_timestamp, stored_message, timestamp, uuid};
use crate::schedule::damaged;
use crate::shared::LaneNames;
use crate::sql::Sql;
use crate::store::Parameters;

impl Inspect for PostgresStore {
    fn show(&self, id: MessageId) -> StoreFuture<'_, Option<MessageRecord>> {
        Box::pin(async move {
            let id = uuid(id);
            let rows = self.query(Sql::message, &[&id]).await?;
            let Some(row) = rows.first() else { return Ok(None) };
            let stored = stored_message(row, 0).map_err(damaged)?;
            let deliveries = self.query(Sql::show_deliveries, &[&id]).await?;
            let deliveries = deliveries.iter().map(delivery).collect::<Result<Vec<_>, _>>();
            let mut deliveries = deliveries.map_err(damaged)?;
            deliveries.sort_by(|one, other| one.handler_key.cmp(&other.handler_key));
            let attempts = self.query(Sql::show_attempts, &[&id]).await?;
            let attempts = attempts.iter().map(attempt).collect::<Result<_, _>>();
            Ok(Some(MessageRecord { stored, deliveries, attempts: attempts.map_err(damaged)? }))
        })
    }

    fn list(&self, filter: DeliveryFilter) -> StoreFuture<'_, Page> {
        Box::pin(async move {
            let size = filter.page_size();
            let after = filter.after.as_ref();
            // One more than fits says whether there is a next page.
            let rows = self
                .look(
                    Sql::list,
                    &[
                        &filter.state.map(DeliveryState::as_str),
                        &filter.handler_key,
                        &filter.contract,
                        &after.map(|cursor| uuid(cursor.message_id)),
                        &after.map(|cursor| cursor.handler_key.as_deref().unwrap_or_default()),
                        &(i64::from(size) + 1),
                    ],
                )
                .await?;
            let found = rows.iter().map(delivery).collect::<Result<Vec<_>, _>>();
            Ok(Page::of(found.map_err(damaged)?, size))
        })
    }

    fn counts(&self) -> StoreFuture<'_, Vec<DeliveryCount>> {
        Box::pin(async move {
            let rows = self.query(Sql::counts, &[]).await?;
            let counts = rows.iter().map(|row| {
                let (handler_key, state) = (column(row, 0)?, state(row, 1)?);
                let count = column::<i64>(row, 2)?.unsigned_abs();
                Ok(DeliveryCount { handler_key, state, count })
            });
            let mut counts = counts.collect::<Result<Vec<_>, String>>().map_err(damaged)?;
            counts.sort();
            Ok(counts)
        })
    }

    fn retry(&self, id: MessageId, handler_key: &str, _: Now) -> StoreFuture<'_, bool> {
        let handler_key = handler_key.to_owned();
        Box::pin(async move {
            let id = uuid(id);
            let lanes = LaneNames::read(&self.query(Sql::lane_names, &[&id]).await?)?;
            // Its lane is locked before: whoever hands the lane on at this moment would not see it.
            let statements: [(&str, Parameters<'_>); 2] = [
                (self.text(Sql::lane_lock), &lanes.parameters()),
                (self.text(Sql::retry), &[&id, &handler_key]),
            ];
            let is_ready = self.count_last(&statements).await? > 0;
            if is_ready {
                self.ring_everywhere();
            }
            Ok(is_ready)
        })
    }

    fn cancel(
        &self,
        id: MessageId,
        handler_key: Option<&str>,
        now: Now,
    ) -> StoreFuture<'_, Cancelled> {
        let key = handler_key.map(str::to_owned);
        Box::pin(
            async move { Act { store: self, id, handler_key: key.as_deref(), now }.cancel().await },
        )
    }

    fn reschedule(
        &self,
        id: MessageId,
        handler_key: Option<&str>,
        start: Start,
        now: Now,
    ) -> StoreFuture<'_, u64> {
        let key = handler_key.map(str::to_owned);
        Box::pin(async move {
            let act = Act { store: self, id, handler_key: key.as_deref(), now };
            let found = act.reschedule(start).await?;
            if found > 0 {
                self.ring_everywhere();
            }
            Ok(found)
        })
    }

    fn routes(&self, alive_for: Duration, now: Now) -> StoreFuture<'_, Vec<RouteRecord>> {
        Box::pin(self.route_records(alive_for, now))
    }

    fn retire(&self, contract: &str, key: &str, _: Now) -> StoreFuture<'_, Vec<KnownRoute>> {
        let (contract, key) = (contract.to_owned(), key.to_owned());
        Box::pin(async move { self.in_time(self.change_route(&contract, &key, false)).await })
    }

    fn restore(&self, contract: &str, key: &str, now: Now) -> StoreFuture<'_, Vec<KnownRoute>> {
        let (contract, key) = (contract.to_owned(), key.to_owned());
        Box::pin(async move {
            let known = self.in_time(self.change_route(&contract, &key, true)).await?;
            self.route_all(now).await?;
            Ok(known)
        })
    }

    fn hosts(&self) -> StoreFuture<'_, Vec<HostRecord>> {
        Box::pin(self.known_hosts())
    }

    fn lanes(&self, filter: LaneFilter) -> StoreFuture<'_, Vec<LaneRecord>> {
        Box::pin(async move { self.list_lanes(&filter).await })
    }

    fn unblock(&self, lane: &Lane, now: Now) -> StoreFuture<'_, bool> {
        let lane = lane.clone();
        Box::pin(async move { self.let_lane_pass(&lane, now).await })
    }
}

fn delivery(row: &Row) -> Result<DeliveryRecord, String> {
    Ok(DeliveryRecord {
        message_id: message_id(row, 0)?,
        handler_key: column(row, 1)?,
        // Gone with its message.
        contract: column::<Option<String>>(row, 2)?.unwrap_or_default(),
        state: state(row, 3)?,
        attempts: count(row, 4)?,
        due_at: optional_timestamp(row, 5)?,
        lease_expires_at: optional_timestamp(row, 6)?,
        settled_at: optional_timestamp(row, 7)?,
        reason: column(row, 8)?,
        error: column(row, 9)?,
    })
}

fn attempt(row: &Row) -> Result<AttemptRecord, String> {
    Ok(AttemptRecord {
        handler_key: column(row, 0)?,
        attempt: count(row, 1)?,
        host: column(row, 2)?,
        leased_at: timestamp(row, 3)?,
        settled_at: timestamp(row, 4)?,
        error_type: column(row, 5)?,
        error: column(row, 6)?,
    })
}

fn state(row: &Row, at: usize) -> Result<DeliveryState, String> {
    DeliveryState::from_str(column(row, at)?).map_err(|error| error.to_string())
}
