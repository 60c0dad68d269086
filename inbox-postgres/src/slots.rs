use inbox_core::Now;
use inbox_core::store::StoreError;
use uuid::Uuid;

use crate::PostgresStore;
use crate::row::column;
use crate::schedule::damaged;
use crate::sql::Sql;

impl PostgresStore {
    /// Frees slots that nobody holds, and gives those a chance that wait behind none.
    pub(crate) async fn mend_slots(&self, limit: u32, now: Now) -> Result<u64, StoreError> {
        let limit = i64::from(limit);
        let lost = self.query(Sql::slots_lost, &[&limit]).await?;
        let lost = lost.iter().map(|row| column(row, 0)).collect::<Result<Vec<Uuid>, _>>();
        let lost = lost.map_err(damaged)?;
        if !lost.is_empty() {
            tracing::warn!(leases = lost.len(), "slots that nobody holds are freed");
            self.hand_on_after(&[], &lost, now).await?;
        }
        Ok(lost.len() as u64 + self.count(Sql::slot_restart, &[&limit]).await?)
    }
}
