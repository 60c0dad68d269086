//! What deliveries share with others: whoever ends one that holds a lane or counts for a limit hands that on.
//! Most hold nothing, and nothing is sent for them.

use inbox_core::Now;
use inbox_core::store::StoreError;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::PostgresStore;
use crate::client::Client;
use crate::parameter::Parameter;
use crate::row::{Unreadable, column};
use crate::schedule::{damaged, moment};
use crate::sql::Sql;
use crate::store::Parameters;

/// What a statement answered, and whether someone else has a turn because of it.
pub(crate) struct HandedOn {
    pub(crate) rows: Vec<Row>,
    pub(crate) has_next: bool,
}

/// A permit of a limit that is free again.
#[derive(Debug, Default)]
pub(crate) struct Freed {
    pub(crate) first_keys: Vec<String>,
    pub(crate) tenants: Vec<String>,
    pub(crate) concurrency_keys: Vec<Option<String>>,
}

/// Lanes by name: the key that the handler had first, the tenant and the ordering key.
#[derive(Debug, Default)]
pub(crate) struct LaneNames {
    pub(crate) first_keys: Vec<String>,
    pub(crate) tenants: Vec<String>,
    pub(crate) ordering_keys: Vec<String>,
}

impl LaneNames {
    /// Reads them from three columns.
    pub(crate) fn read(rows: &[Row]) -> Result<Self, StoreError> {
        let mut names = Self::default();
        for row in rows {
            names.push(row, 0).map_err(damaged)?;
        }
        Ok(names)
    }

    /// Adds that of a row, whose columns begin at `at`.
    pub(crate) fn push(&mut self, row: &Row, at: usize) -> Result<(), Unreadable> {
        self.first_keys.push(column(row, at)?);
        self.tenants.push(column(row, at + 1)?);
        self.ordering_keys.push(column(row, at + 2)?);
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first_keys.is_empty()
    }

    pub(crate) fn parameters(&self) -> [&dyn Parameter; 3] {
        [&self.first_keys, &self.tenants, &self.ordering_keys]
    }
}

impl PostgresStore {
    /// Runs a statement that may end deliveries of this message that nobody holds, and gives those a turn
    /// that wait behind them. Lanes and limits are locked by statements of their own, before: only so does
    /// the hand-over see who was put behind them.
    pub(crate) async fn handing_on(
        &self,
        client: Client<'_>,
        message: Uuid,
        (sql, parameters): (Sql, Parameters<'_>),
        now: Now,
    ) -> Result<HandedOn, StoreError> {
        let lanes = client.query(self.text(Sql::lane_names), &[&message]).await?;
        let lanes = LaneNames::read(&lanes)?;
        let (names, now, messages) = (lanes.parameters(), moment(now), [message]);
        let messages = &messages.as_slice();
        let [first_keys, tenants, ordering_keys] = names;
        let statements: [(&str, Parameters<'_>); 5] = [
            (self.text(Sql::lane_lock), &names),
            (self.text(Sql::limit_share_message), &[messages]),
            (self.text(sql), parameters),
            (self.text(Sql::lane_end), &[&now, first_keys, tenants, ordering_keys]),
            (self.text(Sql::limit_wake_message), &[messages]),
        ];
        let mut answers = client.query_all(&statements).await?.into_iter().skip(2);
        let rows = answers.next().unwrap_or_default();
        let next = answers.map(|rows| number(&rows)).collect::<Result<Vec<_>, _>>()?;
        Ok(HandedOn { rows, has_next: next.iter().any(|next| *next > 0) })
    }

    /// Hands on those of these lanes that nobody holds any more. Should it not come to that,
    /// [`mend`](inbox_core::store::Maintain::mend) finds it.
    pub(crate) async fn hand_on_lanes(
        &self,
        lanes: &LaneNames,
        now: Now,
    ) -> Result<(), StoreError> {
        if lanes.is_empty() {
            return Ok(());
        }
        let (names, now) = (lanes.parameters(), moment(now));
        let [first_keys, tenants, ordering_keys] = names;
        let statements: [(&str, Parameters<'_>); 2] = [
            (self.text(Sql::lane_lock), &names),
            (self.text(Sql::lane_end), &[&now, first_keys, tenants, ordering_keys]),
        ];
        self.ring_for_next(self.count_last(&statements).await?);
        Ok(())
    }

    /// Wakes those that waited for what is free again.
    pub(crate) async fn hand_on_limits(&self, freed: &Freed) -> Result<(), StoreError> {
        let Freed { first_keys, tenants, concurrency_keys } = freed;
        if first_keys.is_empty() {
            return Ok(());
        }
        let statements: [(&str, Parameters<'_>); 2] = [
            (self.text(Sql::limit_share_keys), &[first_keys]),
            (self.text(Sql::limit_wake_keys), &[first_keys, tenants, concurrency_keys]),
        ];
        self.ring_for_next(self.count_last(&statements).await?);
        Ok(())
    }

    /// Wakes those for which no delivery counts any more that they could wait for.
    pub(crate) async fn restart_limits(&self, limit: u32) -> Result<u64, StoreError> {
        self.count(Sql::limit_restart, &[&i64::from(limit)]).await
    }

    fn ring_for_next(&self, next: u64) {
        if next > 0 {
            self.ring_everywhere();
        }
    }

    /// Runs statements in one transaction, and answers the number that the last one does.
    pub(crate) async fn count_last(
        &self,
        statements: &[(&str, Parameters<'_>)],
    ) -> Result<u64, StoreError> {
        let answers = self
            .in_time(async {
                let mut working = self.connection().await?;
                let answer = self.client(working.get()?).query_all(statements).await;
                working.done_with(&answer);
                answer
            })
            .await?;
        answers.last().map_or(Ok(0), |rows| number(rows))
    }
}

/// The number that a statement answers.
pub(crate) fn number(rows: &[Row]) -> Result<u64, StoreError> {
    let number = rows.first().map_or(Ok(0), |row| column::<i64>(row, 0)).map_err(damaged)?;
    Ok(number.unsigned_abs())
}
