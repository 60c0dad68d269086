use std::sync::atomic::Ordering;

use inbox_core::Now;
use inbox_core::message::MessageId;
use inbox_core::store::{DeliveryState, Settle, StoreError, StoreErrorKind};
use tokio::time::timeout;
use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::error::SqlState;

use super::error::{collides, is_cut};
use super::{Transaction, TransactionError};
use crate::client::{Client, local};
use crate::error::translate;
use crate::refusal::without_rows;
use crate::settle::Settled;
use crate::sql::{SESSION, UNIT_CLOSE};

/// What came of the attempt to commit.
pub(super) enum Commit {
    /// With the state of each delivery.
    Done(Vec<DeliveryState>),
    /// These leases were lost, and nothing was written.
    Lost(Vec<MessageId>),
    /// Nothing was written, for a reason that may pass.
    Conflict(StoreError),
    /// Nothing was written.
    Refused(TransactionError),
    /// Nothing was written: the store failed.
    Failed(StoreError),
    /// The commit was sent, and its answer is not known.
    Unsure(StoreError),
}

impl From<TransactionError> for Commit {
    fn from(error: TransactionError) -> Self {
        Self::Refused(error)
    }
}

impl Transaction {
    /// Settles, and commits it all. The leases are touched last, so that nobody waits for them longer
    /// than the commit takes.
    pub(super) async fn commit(self, settles: &[Settle], now: Now) -> Commit {
        let settled = match self.settle(settles, now).await {
            Ok(settled) => settled,
            Err(commit) => {
                match &commit {
                    // Nothing more can be asked of this connection: dropped, it is undone as well.
                    Commit::Conflict(error) if error.kind() == StoreErrorKind::TimedOut => {
                        drop(self);
                    }
                    _ => self.roll_back().await,
                }
                return commit;
            }
        };
        let limit = self.store.call_timeout();
        match timeout(limit, self.batch_execute("COMMIT")).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) if is_cut(&error) => {
                self.leave();
                return Commit::Unsure(translate(error));
            }
            Ok(Err(error)) => {
                // PostgreSQL has rolled it back.
                let commit = refused(error);
                self.over();
                return commit;
            }
            Err(_) => {
                self.leave();
                let message = format!("there was no answer to a commit within {limit:?}");
                return Commit::Unsure(StoreError::new(StoreErrorKind::TimedOut, message));
            }
        }
        if self.has_scheduled.load(Ordering::Relaxed) {
            self.store.ring_everywhere();
        }
        let states = settled.map(|settled| {
            self.store.ring_for(&settled);
            settled.answers(settles).into_iter().filter_map(Result::ok).collect()
        });
        self.over();
        Commit::Done(states.unwrap_or_default())
    }

    /// All of them, or the answer is why not.
    async fn settle(&self, settles: &[Settle], now: Now) -> Result<Option<Settled>, Commit> {
        self.close().await?;
        if settles.is_empty() {
            return Ok(None);
        }
        let store = &self.store;
        let client = Client::TheirUnit(self);
        let settled = store.in_time(store.settle_on(client, settles, now)).await;
        let settled = settled.map_err(|error| match error.is_transient() {
            true => Commit::Conflict(error),
            false => Commit::Failed(error),
        })?;
        let lost: Vec<_> =
            settles.iter().filter(|one| !settled.has(one)).map(|one| one.message_id).collect();
        match lost.is_empty() {
            true => Ok(Some(settled)),
            false => Err(Commit::Lost(lost)),
        }
    }

    /// Makes sure that this is still the transaction that was begun, and takes no more of the handler's.
    async fn close(&self) -> Result<(), Commit> {
        let limit = format!("{}ms", self.store.call_timeout().as_millis().min(86_400_000));
        let close = format!("{};\n{}", local(SESSION), UNIT_CLOSE.replace(":limit", &limit));
        let answer = timeout(self.store.call_timeout(), self.simple_query(&close)).await;
        let rows = match answer {
            Ok(Ok(rows)) => rows,
            Ok(Err(error)) => return Err(refused(error)),
            Err(_) => {
                let message = "a handler's transaction took too long to check its constraints";
                return Err(Commit::Conflict(StoreError::new(StoreErrorKind::TimedOut, message)));
            }
        };
        let mark = rows.iter().find_map(|row| match row {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        match mark == Some(&*self.mark.0) {
            true => Ok(()),
            false => Err(TransactionError::Ended.into()),
        }
    }

    /// Undoes it. If that fails, its connection is dropped, which does it too.
    pub(super) async fn roll_back(self) {
        let undone = timeout(self.store.call_timeout(), self.batch_execute("ROLLBACK")).await;
        if let Ok(Ok(())) = undone {
            self.over();
        }
    }
}

/// What it means that a statement after the handler's own failed, or the commit itself.
fn refused(error: tokio_postgres::Error) -> Commit {
    match error.code() {
        Some(&SqlState::IN_FAILED_SQL_TRANSACTION) => TransactionError::Aborted.into(),
        Some(code) if collides(code) => Commit::Conflict(translate(error)),
        _ if is_cut(&error) => Commit::Conflict(translate(error)),
        _ => TransactionError::Refused(without_rows(error)).into(),
    }
}
