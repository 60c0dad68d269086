use std::str::FromStr as _;

use inbox_core::Now;
use inbox_core::store::{DeliveryState, Lane, LaneFilter, LaneRecord, StoreError};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::PostgresStore;
use crate::row::{column, message_id, timestamp};
use crate::schedule::{damaged, moment};
use crate::sql::Sql;
use crate::store::Parameters;

impl PostgresStore {
    pub(crate) async fn list_lanes(
        &self,
        filter: &LaneFilter,
    ) -> Result<Vec<LaneRecord>, StoreError> {
        let limit = i64::from(filter.page_size());
        let parameters: Parameters<'_> = &[&filter.handler_key, &filter.blocked, &limit];
        let rows = self.query(Sql::lanes, parameters).await?;
        rows.iter().map(record).collect::<Result<_, _>>().map_err(damaged)
    }

    pub(crate) async fn let_lane_pass(&self, lane: &Lane, now: Now) -> Result<bool, StoreError> {
        let parameters: Parameters<'_> = &[&lane.handler_key, &lane.tenant, &lane.ordering_key];
        let rows = self.query(Sql::lane_unblock, parameters).await?;
        let over = rows.iter().map(|row| column(row, 0)).collect::<Result<Vec<Uuid>, _>>();
        let over = over.map_err(damaged)?;
        self.hand_on_lanes(&over, now).await?;
        Ok(!over.is_empty())
    }

    pub(crate) async fn mend_lanes(&self, limit: u32, now: Now) -> Result<u64, StoreError> {
        let limit = i64::from(limit);
        let lost = self.query(Sql::lanes_lost, &[&limit]).await?;
        let lost = lost.iter().map(|row| column(row, 0)).collect::<Result<Vec<Uuid>, _>>();
        let lost = lost.map_err(damaged)?;
        let mut mended = 0;
        if !lost.is_empty() {
            tracing::warn!(lanes = lost.len(), "lanes without a head are handed on");
            let statements: [(&str, Parameters<'_>); 2] = [
                (self.text(Sql::lane_lock), &[&lost]),
                (self.text(Sql::lane_repair), &[&moment(now), &lost]),
            ];
            self.count_last(&statements).await?;
            mended += lost.len() as u64;
        }
        mended += self.count(Sql::lane_restart, &[&moment(now), &limit]).await?;
        Ok(mended)
    }
}

fn record(row: &Row) -> Result<LaneRecord, String> {
    Ok(LaneRecord {
        lane: Lane {
            handler_key: column(row, 0)?,
            tenant: column(row, 1)?,
            ordering_key: column(row, 2)?,
        },
        head: message_id(row, 3)?,
        state: DeliveryState::from_str(column(row, 4)?).map_err(|error| error.to_string())?,
        since: timestamp(row, 5)?,
        behind: column::<i64>(row, 6)?.unsigned_abs(),
    })
}
