use std::str::FromStr as _;

use inbox_core::Now;
use inbox_core::store::{DeliveryState, Lane, LaneFilter, LaneRecord, StoreError};
use tokio_postgres::Row;

use crate::PostgresStore;
use crate::row::{column, message_id, timestamp};
use crate::schedule::damaged;
use crate::shared::LaneNames;
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
        let lanes = LaneNames::read(&rows)?;
        self.hand_on_lanes(&lanes, now).await?;
        Ok(!lanes.is_empty())
    }

    pub(crate) async fn mend_lanes(&self, limit: u32, now: Now) -> Result<u64, StoreError> {
        let limit = i64::from(limit);
        let rows = self.query(Sql::lanes_lost, &[&limit]).await?;
        let lost = LaneNames::read(&rows)?;
        if !lost.is_empty() {
            tracing::warn!(lanes = rows.len(), "lanes without a holder are handed on");
            self.hand_on_lanes(&lost, now).await?;
        }
        Ok(rows.len() as u64 + self.count(Sql::lane_restart, &[&limit]).await?)
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
