use inbox_core::store::StoreError;

use crate::PostgresStore;
use crate::row::column;
use crate::schedule::damaged;
use crate::sql::Sql;

/// How messages are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// By a plain statement, which is faster.
    Written,
    /// By the functions that a writer may call, and that do it for it.
    Called,
}

impl PostgresStore {
    /// Finds out once what the store's role may do.
    pub(crate) async fn find_way(&self) -> Result<(), StoreError> {
        let rows = self.query(Sql::may_insert, &[&self.inner().schema.name]).await?;
        let may_insert = rows.first().map(|row| column::<bool>(row, 0)).transpose();
        let way = match may_insert.map_err(damaged)? {
            Some(true) => Way::Written,
            _ => Way::Called,
        };
        // Whoever was first found the same.
        let _ = self.inner().way.set(way);
        Ok(())
    }

    pub(crate) fn way(&self) -> Way {
        self.inner().way.get().copied().unwrap_or(Way::Written)
    }
}
