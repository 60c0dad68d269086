use std::collections::{BTreeMap, BTreeSet};

use inbox_core::Now;
use inbox_core::message::MessageId;
use inbox_core::schedule::Start;
use inbox_core::store::{Cancelled, StoreError};
use tokio_postgres::Row;

use crate::PostgresStore;
use crate::insert::{start_after, start_at};
use crate::row::{column, uuid};
use crate::schedule::{damaged, moment};
use crate::sql::Sql;
use crate::store::Parameters;

/// Acts on the deliveries of one message, for one handler or for all.
///
/// A delivery that moves while a statement looks for it is in neither place, as far as that statement
/// can see. So it is looked for again, until it was found or has come to rest.
pub(crate) struct Act<'a> {
    pub(crate) store: &'a PostgresStore,
    pub(crate) id: MessageId,
    pub(crate) handler_key: Option<&'a str>,
    pub(crate) now: Now,
}

impl Act<'_> {
    pub(crate) async fn cancel(&self) -> Result<Cancelled, StoreError> {
        self.store
            .in_time(Box::pin(async {
                let mut found = BTreeMap::new();
                loop {
                    let (now, id) = (moment(self.now), uuid(self.id));
                    let parameters: Parameters<'_> = &[&now, &id, &self.handler_key];
                    for row in &self.act(Sql::cancel, parameters).await? {
                        let is_done: bool = column(row, 1).map_err(damaged)?;
                        found.insert(handler_key(row)?, is_done);
                    }
                    if !self.is_left(found.keys(), true).await? {
                        break;
                    }
                }
                let at_once = found.values().filter(|is_done| **is_done).count() as u64;
                Ok(Cancelled { at_once, asked: found.len() as u64 - at_once })
            }))
            .await
    }

    pub(crate) async fn reschedule(&self, start: Start) -> Result<u64, StoreError> {
        self.store
            .in_time(Box::pin(async {
                let mut found = BTreeSet::new();
                loop {
                    let (now, id) = (moment(self.now), uuid(self.id));
                    let (at, after) = (start_at(start), start_after(start));
                    let parameters: Parameters<'_> = &[&now, &id, &self.handler_key, &at, &after];
                    for row in &self.act(Sql::reschedule, parameters).await? {
                        found.insert(handler_key(row)?);
                    }
                    if !self.is_left(found.iter(), false).await? {
                        return Ok(found.len() as u64);
                    }
                }
            }))
            .await
    }

    /// Runs a statement; if it ends what others wait behind, these have their turn.
    async fn act(&self, sql: Sql, parameters: Parameters<'_>) -> Result<Vec<Row>, StoreError> {
        let mut working = self.store.connection().await?;
        let client = self.store.client(working.get()?);
        let id = uuid(self.id);
        let answer = self.store.handing_on(client, id, (sql, parameters), self.now).await;
        working.done_with(&answer);
        let answer = answer?;
        if answer.has_next {
            self.store.ring_everywhere();
        }
        Ok(answer.rows)
    }

    async fn is_left(
        &self,
        found: impl Iterator<Item = &String>,
        held_ones_too: bool,
    ) -> Result<bool, StoreError> {
        let found: Vec<_> = found.collect();
        let parameters: Parameters<'_> =
            &[&uuid(self.id), &self.handler_key, &found, &held_ones_too];
        Ok(!self.store.query(Sql::act_left, parameters).await?.is_empty())
    }
}

fn handler_key(row: &Row) -> Result<String, StoreError> {
    column(row, 0).map_err(damaged)
}
