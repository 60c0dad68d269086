use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use inbox_core::store::{StoreError, StoreErrorKind};
use tokio::time::timeout;
use tokio_postgres::SimpleQueryMessage;
use uuid::Uuid;

use super::{Open, Transaction, TransactionMark};
use crate::PostgresStore;
use crate::client::{Owner, theirs};
use crate::error::translate;

/// How many transactions of handlers a pool of this size has room for: some connections are left to
/// lease and to settle with.
pub(crate) fn turns(connections: usize) -> usize {
    connections.saturating_sub(connections.div_ceil(4)).max(1)
}

impl Transaction {
    /// Begins one on a connection of the pool, when one is free.
    pub(super) async fn begin(store: &PostgresStore) -> Result<Self, StoreError> {
        let turn = Arc::clone(&store.inner().turns).acquire_owned();
        let turn = timeout(store.call_timeout(), turn).await;
        let turn = turn.ok().and_then(Result::ok).ok_or_else(|| {
            let message = "no connection became free for a handler's transaction: make the pool \
                           larger (`PostgresOptions::connections`), or run fewer handlers at once";
            StoreError::new(StoreErrorKind::Busy, message)
        })?;
        let mark = Uuid::now_v7().to_string();
        // The mark ends with the transaction: so it shows whether the handler has ended it.
        let mut begin =
            format!("BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL inbox.transaction = '{mark}'");
        if store.inner().owner == Owner::Store {
            begin = format!("{begin};\n{}", theirs());
        }
        begin.push_str(";\nSELECT pg_backend_pid()");
        let (connection, backend) = store
            .in_time(async {
                let mut working = store.connection().await?;
                let answer = working.get()?.simple_query(&begin).await.map_err(translate)?;
                Ok((working.keep()?, backend(&answer)))
            })
            .await?;
        let connection = Arc::new(connection);
        let canceller = Arc::clone(&store.inner().canceller);
        Ok(Self {
            open: Open { connection: Some(Arc::clone(&connection)), canceller },
            connection,
            store: store.clone(),
            mark: TransactionMark(mark),
            backend,
            has_scheduled: AtomicBool::new(false),
            _turn: turn,
        })
    }
}

/// The process of the server that the transaction runs in.
fn backend(answer: &[SimpleQueryMessage]) -> Option<i32> {
    answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0)?.parse().ok(),
        _ => None,
    })
}
