use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join3;
use inbox_core::Now;
use inbox_core::store::{DeliveryState, Settle, StoreError, StoreErrorKind};
use tokio::time::timeout;
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;

use super::error::{collides, is_cut};
use super::{Transaction, TransactionError};
use crate::client::OURS;
use crate::error::translate;
use crate::parameter::Parameter;
use crate::refusal::without_rows;
use crate::settle::{AskedSettlements, Settled};
use crate::sql::Sql;
use crate::store::Parameters;

/// What came of the attempt to commit.
pub(super) enum Commit {
    /// With the state of each delivery.
    Done(Vec<DeliveryState>),
    /// Deliveries are another worker's by now, and nothing was written.
    Lost,
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

/// What `must_settle` raises, and so ends the transaction: the handler did so before, or a delivery is not held
/// any more.
const ENDED: &str = "IB001";
const LOST: &str = "IB002";

impl Transaction {
    /// Settles, and commits it all, in one round trip. The deliveries are touched last, so that nobody waits
    /// for them longer than the commit takes. Whatever fails before it makes the commit a rollback.
    pub(super) async fn commit(self, settles: &[Settle], now: Now) -> Commit {
        let limit = self.store.call_timeout();
        let asked = AskedSettlements::of(settles, now);
        let answer = match timeout(limit, self.settle_and_commit(&asked, limit)).await {
            Ok(answer) => answer,
            Err(_) => {
                let message = format!("there was no answer to a commit within {limit:?}");
                Err(Commit::Unsure(StoreError::new(StoreErrorKind::TimedOut, message)))
            }
        };
        let settled = match answer {
            Ok(settled) => settled,
            Err(commit @ Commit::Unsure(_)) => {
                self.leave();
                return commit;
            }
            Err(commit) => {
                // The commit was a rollback already, if it was sent.
                self.roll_back().await;
                return commit;
            }
        };
        if self.has_scheduled.load(Ordering::Relaxed) {
            self.store.ring_everywhere();
        }
        self.store.ring_for(&settled);
        self.over();
        Commit::Done(settled.answers(settles).into_iter().filter_map(Result::ok).collect())
    }

    async fn settle_and_commit(
        &self,
        asked: &AskedSettlements<'_>,
        limit: Duration,
    ) -> Result<Settled, Commit> {
        let (count, mark) = (asked.len(), &self.mark.0);
        let mut parameters = asked.parameters();
        parameters.push(&count);
        parameters.push(mark);
        let within = match count {
            0 => vec![(Sql::must_settle, vec![mark as &dyn Parameter])],
            _ => asked.statements(asked.sql_within(), &parameters),
        };
        let statements: Vec<(&str, Parameters<'_>)> =
            within.iter().map(|(sql, given)| (self.store.text(*sql), &given[..])).collect();
        // Before the settlement is sent with the rest: to name a statement takes an answer.
        let prepared = self.prepared(&statements).await.map_err(refused)?;
        let close = close(limit);
        let (closed, answers, committed) = join3(
            self.batch_execute(&close),
            self.send(&prepared, &statements),
            self.batch_execute("COMMIT"),
        )
        .await;
        closed.map_err(refused)?;
        let answers = answers.map_err(unsettled)?;
        committed.map_err(refused)?;
        let answers = if count == 0 { Vec::new() } else { answers };
        asked.read(&answers).map_err(Commit::Failed)
    }

    /// Undoes it. If that fails, its connection is dropped, which does it too.
    pub(super) async fn roll_back(self) {
        let undone = timeout(self.store.call_timeout(), self.batch_execute("ROLLBACK")).await;
        if let Ok(Ok(())) = undone {
            self.over();
        }
    }

    async fn send(
        &self,
        prepared: &[tokio_postgres::Statement],
        statements: &[(&str, Parameters<'_>)],
    ) -> Result<Vec<Vec<Row>>, tokio_postgres::Error> {
        crate::client::sent(self, prepared, statements).await
    }

    async fn prepared(
        &self,
        statements: &[(&str, Parameters<'_>)],
    ) -> Result<Vec<tokio_postgres::Statement>, tokio_postgres::Error> {
        crate::client::prepared(self.connection(), self.store.inner().owner, statements).await
    }
}

/// What comes before the settlement: what was put off to the commit is done, so that nothing takes long once the
/// delivery is locked; and a worker that vanishes with that lock does not keep it. The handler's own limits are
/// not meant for what follows, and its plans neither.
fn close(limit: Duration) -> String {
    let limit = limit.as_millis().min(86_400_000);
    let ours = OURS.map(|(name, value)| (name, value.to_owned()));
    let limits = [
        ("idle_in_transaction_session_timeout", format!("{limit}ms")),
        ("statement_timeout", format!("{limit}ms")),
        ("lock_timeout", "0".to_owned()),
    ];
    let settings = ours.into_iter().chain(limits);
    let set = settings.map(|(name, value)| format!("set_config('{name}', '{value}', true)"));
    format!("SET CONSTRAINTS ALL IMMEDIATE; SELECT {}", set.collect::<Vec<_>>().join(", "))
}

/// What it means that the settlement failed.
fn unsettled(error: tokio_postgres::Error) -> Commit {
    match error.code().map(SqlState::code) {
        Some(ENDED) => TransactionError::Ended.into(),
        Some(LOST) => Commit::Lost,
        _ if is_cut(&error) => Commit::Unsure(translate(error)),
        _ => {
            let error = translate(error);
            match error.is_transient() {
                true => Commit::Conflict(error),
                false => Commit::Failed(error),
            }
        }
    }
}

/// What it means that a statement after the handler's own failed, or the commit itself.
fn refused(error: tokio_postgres::Error) -> Commit {
    match error.code() {
        Some(&SqlState::IN_FAILED_SQL_TRANSACTION) => TransactionError::Aborted.into(),
        Some(code) if collides(code) => Commit::Conflict(translate(error)),
        // The rest was sent with it: nobody knows how far the server got.
        _ if is_cut(&error) => Commit::Unsure(translate(error)),
        _ => TransactionError::Refused(without_rows(error)).into(),
    }
}
