use std::time::Duration;

use inbox_core::store::{Listening, StoreError};
use rusqlite::{Connection, Result};

use crate::SqliteStore;
use crate::wait::closed;

/// How often to look whether others wrote.
const PAUSE: Duration = Duration::from_millis(50);

/// Rings for every commit on another connection, of this program or another. It does not keep the store
/// open.
pub(crate) async fn listen(store: &SqliteStore) -> std::result::Result<Listening, StoreError> {
    let mut seen = store.read_as_writer(version).await?;
    // What was committed before nobody has heard.
    store.the_bell().ring();
    let (weak, place) = (store.downgrade(), store.place().clone());
    Ok(Box::pin(async move {
        loop {
            tokio::time::sleep(PAUSE).await;
            let Some(store) = weak.upgrade() else { return closed(&place) };
            match store.read_as_writer(version).await {
                Ok(version) if version != seen => {
                    seen = version;
                    store.the_bell().ring();
                }
                Ok(_) => {}
                Err(error) => return error,
            }
        }
    }))
}

/// A number that others change by what they commit, and the connection's own commits do not: so it is
/// asked on the one that writes.
fn version(connection: &Connection) -> Result<i64> {
    connection.pragma_query_value(None, "data_version", |row| row.get(0))
}
