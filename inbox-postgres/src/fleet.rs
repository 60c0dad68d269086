use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use inbox_core::Now;
use inbox_core::store::{DeadDelivery, HostRecord, OrphanTerms, RouteRecord, Served, StoreError};
use tokio_postgres::Row;

use crate::PostgresStore;
use crate::orphans::Orphans;
use crate::row::{column, timestamp};
use crate::schedule::{damaged, moment};
use crate::sql::Sql;
use crate::value::{Json, Span};

/// A host that was not seen for so many times as long as it counts as alive is forgotten.
const FORGOTTEN_AFTER: u32 = 60;

impl PostgresStore {
    pub(crate) async fn say_here(
        &self,
        host: &str,
        serves: &[Served],
        now: Now,
    ) -> Result<(), StoreError> {
        let serves: serde_json::Map<_, _> = serves
            .iter()
            .map(|served| (served.handler_key.clone(), served.versions.clone().into()))
            .collect();
        let serves = Json(serde_json::Value::Object(serves).to_string().into_bytes());
        self.query(Sql::announce, &[&moment(now), &host, &serves]).await.map(drop)
    }

    pub(crate) async fn known_hosts(&self) -> Result<Vec<HostRecord>, StoreError> {
        let rows = self.query(Sql::hosts, &[]).await?;
        rows.iter().map(host).collect::<Result<_, _>>().map_err(damaged)
    }

    pub(crate) async fn route_records(
        &self,
        alive_for: Duration,
        now: Now,
    ) -> Result<Vec<RouteRecord>, StoreError> {
        let rows = self.look(Sql::route_records, &[&moment(now), &Span(alive_for)]).await?;
        rows.iter().map(route).collect::<Result<_, _>>().map_err(damaged)
    }

    /// Dead-letters what is ready under keys that no live host serves. Each key by itself: whatever happens in
    /// between, the next call goes on from there.
    pub(crate) async fn give_up(
        &self,
        OrphanTerms { grace, alive_for }: OrphanTerms,
        limit: u32,
        now: Now,
    ) -> Result<Vec<DeadDelivery>, StoreError> {
        let (at, alive_for) = (moment(now), Span(alive_for));
        let forgotten = Span(alive_for.0.saturating_mul(FORGOTTEN_AFTER));
        self.query(Sql::orphan_clear, &[&at, &alive_for, &forgotten]).await?;
        let due = self.query(Sql::orphan_mark, &[&at, &alive_for, &Span(grace)]).await?;
        let mut dead = Vec::new();
        for row in &due {
            let handler_key: String = column(row, 0).map_err(damaged)?;
            let live: Vec<String> = column(row, 1).map_err(damaged)?;
            let orphans = Orphans { store: self, handler_key, live, alive_for, now };
            // Of a lane one at a time: where the dead let others pass, the next has its turn then.
            while let Some(left) = left(limit, &dead) {
                let more = orphans.give_up(left).await?;
                if more.is_empty() {
                    break;
                }
                dead.extend(more);
            }
        }
        Ok(dead)
    }
}

fn left(limit: u32, dead: &[DeadDelivery]) -> Option<NonZeroU32> {
    NonZeroU32::new(limit.saturating_sub(u32::try_from(dead.len()).unwrap_or(u32::MAX)))
}

fn host(row: &Row) -> Result<HostRecord, String> {
    let Json(serves) = column(row, 3)?;
    let serves: BTreeMap<String, Vec<u32>> =
        serde_json::from_slice(&serves).map_err(|error| error.to_string())?;
    let one = |(handler_key, versions)| Served { handler_key, versions };
    Ok(HostRecord {
        name: column(row, 0)?,
        started_at: timestamp(row, 1)?,
        seen_at: timestamp(row, 2)?,
        serves: serves.into_iter().map(one).collect(),
    })
}

fn route(row: &Row) -> Result<RouteRecord, String> {
    Ok(RouteRecord {
        contract: column(row, 0)?,
        handler_key: column(row, 1)?,
        superseded_by: column(row, 2)?,
        retired: column(row, 3)?,
        open: column::<i64>(row, 4)?.unsigned_abs(),
        hosts: column(row, 5)?,
    })
}
