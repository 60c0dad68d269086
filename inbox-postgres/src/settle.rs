use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use inbox_core::Now;
use inbox_core::message::MessageId;
use inbox_core::settle::{ErrorReport, Settlement};
use inbox_core::store::{
    DeliveryState, HandlerTransactions, LeaseLost, LeaseToken, Settle, StateStore, StoreError,
    StoreFuture,
};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::PostgresStore;
use crate::bound::{Ends, is_bound};
use crate::client::Client;
use crate::row::{column, uuid};
use crate::schedule::{damaged, moment};
use crate::sql::Sql;
use crate::store::Parameters;
use crate::transaction::TransactionScope;
use crate::value::Span;

impl StateStore for PostgresStore {
    fn settle(
        &self,
        settles: Vec<Settle>,
        now: Now,
    ) -> StoreFuture<'_, Vec<Result<DeliveryState, LeaseLost>>> {
        Box::pin(async move {
            if settles.is_empty() {
                return Ok(Vec::new());
            }
            let settled = self
                .in_time(async {
                    let mut working = self.connection().await?;
                    let client = self.client(working.get()?);
                    let answer = self.settle_on(client, &settles, now).await;
                    working.done_with(&answer);
                    answer
                })
                .await?;
            self.ring_for(&settled);
            Ok(settled.answers(&settles))
        })
    }

    fn transactions(&self) -> Option<Arc<dyn HandlerTransactions>> {
        Some(Arc::new(TransactionScope(self.clone())))
    }

    fn release(&self, tokens: Vec<LeaseToken>, now: Now) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let tokens: Vec<_> = tokens.into_iter().map(token).collect();
            let rows = self.query(Sql::release, &[&moment(now), &tokens]).await?;
            let Some(row) = rows.first() else { return Ok(0) };
            let released = column::<i64>(row, 0).map_err(damaged)?.unsigned_abs();
            if released > 0 {
                self.ring_everywhere();
            }
            let cancelled: Vec<Uuid> = column(row, 1).map_err(damaged)?;
            self.hand_on_after(&cancelled, &tokens, now).await?;
            Ok(released)
        })
    }

    fn abandon(&self, tokens: Vec<LeaseToken>, now: Now) {
        // Without a runtime there is nobody left to do it: the leases expire.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if tokens.is_empty() {
            return;
        }
        let store = self.clone();
        self.inner().tasks.spawn_on(
            async move {
                if let Err(error) = store.release(tokens, now).await {
                    tracing::debug!(%error, "could not release leases: they will expire");
                }
            },
            &runtime,
        );
    }
}

/// The state that each delivery is in now, of those that were settled.
#[derive(Debug)]
pub(crate) struct Settled {
    states: HashMap<(LeaseToken, MessageId), DeliveryState>,
    /// Whether others have their turn now, who waited behind one of them.
    has_next: bool,
}

impl Settled {
    pub(crate) fn has(&self, one: &Settle) -> bool {
        self.states.contains_key(&(one.token, one.message_id))
    }

    /// The answers to `settles`, in their order. Of two for one delivery, the second finds nothing.
    pub(crate) fn answers(mut self, settles: &[Settle]) -> Vec<Result<DeliveryState, LeaseLost>> {
        let answer = |one: &Settle| {
            self.states.remove(&(one.token, one.message_id)).ok_or(LeaseLost(one.token))
        };
        settles.iter().map(answer).collect()
    }
}

impl PostgresStore {
    /// Runs the statements that settle on this client, within its transaction if it is in one. Whoever
    /// commits [rings](Self::ring_for).
    pub(crate) async fn settle_on(
        &self,
        client: Client<'_>,
        settles: &[Settle],
        now: Now,
    ) -> Result<Settled, StoreError> {
        // Asked twice for one delivery, the first stands.
        let mut seen = HashSet::new();
        let first = |one: &&Settle| seen.insert((one.token, one.message_id));
        let asked: Vec<_> = settles.iter().filter(first).collect();
        match asked.iter().map(|one| outcome(one)).collect::<Option<Vec<_>>>() {
            Some(words) => self.settle_done(client, &asked, &words, now).await,
            None => self.settle_any(client, &asked, now).await,
        }
    }

    /// What was given back is for any worker; what waits is due sooner than workers here may expect.
    pub(crate) fn ring_for(&self, Settled { states: settled, has_next }: &Settled) {
        if settled.values().any(|state| *state == DeliveryState::Pending) {
            self.ring_everywhere();
        } else if *has_next {
            self.ring_here_first();
        } else if settled.values().any(|state| *state == DeliveryState::Waiting) {
            self.ring_here();
        }
    }

    async fn settle_done(
        &self,
        client: Client<'_>,
        asked: &[&Settle],
        words: &[&str],
        now: Now,
    ) -> Result<Settled, StoreError> {
        let (tokens, messages) = names(asked);
        let parameters: Parameters<'_> = &[&moment(now), &tokens, &messages, &words];
        let (rows, has_next) =
            self.settle_with(client, asked, &messages, (Sql::settle_done, parameters), now).await?;
        read(&rows, has_next, asked, |_| Ok(false))
    }

    async fn settle_any(
        &self,
        client: Client<'_>,
        asked: &[&Settle],
        now: Now,
    ) -> Result<Settled, StoreError> {
        let (tokens, messages) = names(asked);
        let rows: Vec<_> = asked.iter().map(|one| SettleRow::of(&one.settlement)).collect();
        let places: Vec<_> = rows.iter().map(|row| row.place).collect();
        let words: Vec<_> = rows.iter().map(|row| row.word).collect();
        let after: Vec<_> = rows.iter().map(|row| row.after).collect();
        let types: Vec<_> =
            rows.iter().map(|row| row.error.map(|error| error.error_type.as_str())).collect();
        let errors: Vec<_> =
            rows.iter().map(|row| row.error.map(|error| error.text.as_str())).collect();
        let parameters: Parameters<'_> =
            &[&moment(now), &tokens, &messages, &places, &words, &after, &types, &errors];
        let (rows, has_next) =
            self.settle_with(client, asked, &messages, (Sql::settle, parameters), now).await?;
        read(&rows, has_next, asked, |row| column(row, 1))
    }

    /// Runs the statement, with what goes with it where deliveries hold a lane or a slot.
    async fn settle_with(
        &self,
        client: Client<'_>,
        asked: &[&Settle],
        messages: &[Uuid],
        (sql, parameters): (Sql, Parameters<'_>),
        now: Now,
    ) -> Result<(Vec<Row>, bool), StoreError> {
        if !asked.iter().any(|one| is_bound(one.token)) {
            return Ok((client.query(self.text(sql), parameters).await?, false));
        }
        let tokens: Vec<_> = asked.iter().map(|one| token(one.token)).collect();
        let ends = Ends { lock: Sql::lane_lock, messages, tokens: &tokens };
        let answer = self.hand_on(client, ends, (sql, parameters), now).await?;
        Ok((answer.rows, answer.has_next))
    }
}

fn names(asked: &[&Settle]) -> (Vec<Uuid>, Vec<Uuid>) {
    asked.iter().map(|one| (token(one.token), uuid(one.message_id))).unzip()
}

/// Reads which of those that were asked about are settled, and whether each was cancelled instead.
fn read(
    rows: &[Row],
    has_next: bool,
    asked: &[&Settle],
    cancelled: fn(&Row) -> Result<bool, String>,
) -> Result<Settled, StoreError> {
    let mut settled = HashMap::with_capacity(rows.len());
    for row in rows {
        let nth: i64 = column(row, 0).map_err(damaged)?;
        let one = usize::try_from(nth - 1).ok().and_then(|at| asked.get(at));
        let one = one.ok_or_else(|| damaged("an answer to nothing that was asked".to_owned()))?;
        let state = match cancelled(row).map_err(damaged)? {
            true => DeliveryState::Cancelled,
            false => one.settlement.state(),
        };
        settled.insert((one.token, one.message_id), state);
    }
    Ok(Settled { states: settled, has_next })
}

/// The word for it, if it is done.
fn outcome(one: &Settle) -> Option<&'static str> {
    match &one.settlement {
        Settlement::Done(outcome) => Some(outcome.as_str()),
        Settlement::Retry { .. } | Settlement::Dead { .. } | Settlement::Release => None,
    }
}

fn token(token: LeaseToken) -> Uuid {
    Uuid::from_u128(token.as_u128())
}

/// A settlement as `settle.sql` takes it.
struct SettleRow<'a> {
    place: &'static str,
    word: Option<&'static str>,
    after: Option<Span>,
    error: Option<&'a ErrorReport>,
}

impl<'a> SettleRow<'a> {
    fn of(settlement: &'a Settlement) -> Self {
        match settlement {
            Settlement::Done(outcome) => {
                Self { place: "done", word: Some(outcome.as_str()), after: None, error: None }
            }
            Settlement::Retry { after, error } => {
                Self { place: "waiting", word: None, after: Some(Span(*after)), error: Some(error) }
            }
            Settlement::Dead { reason, error } => {
                Self { place: "dead", word: Some(reason.as_str()), after: None, error: Some(error) }
            }
            Settlement::Release => Self { place: "ready", word: None, after: None, error: None },
        }
    }
}
