use std::collections::HashMap;

use inbox_core::Now;
use inbox_core::settle::{ErrorReport, Settlement};
use inbox_core::store::{DeliveryState, LeaseLost, LeaseToken, Settle, StateStore, StoreFuture};
use uuid::Uuid;

use crate::PostgresStore;
use crate::row::{column, uuid};
use crate::schedule::{damaged, moment};
use crate::sql::Sql;
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
            let tokens: Vec<_> = settles.iter().map(|one| token(one.token)).collect();
            let messages: Vec<_> = settles.iter().map(|one| uuid(one.message_id)).collect();
            let rows: Vec<_> = settles.iter().map(|one| SettleRow::of(&one.settlement)).collect();
            let places: Vec<_> = rows.iter().map(|row| row.place).collect();
            let words: Vec<_> = rows.iter().map(|row| row.word).collect();
            let after: Vec<_> = rows.iter().map(|row| row.after).collect();
            let types: Vec<_> =
                rows.iter().map(|row| row.error.map(|error| error.error_type.as_str())).collect();
            let errors: Vec<_> =
                rows.iter().map(|row| row.error.map(|error| error.text.as_str())).collect();
            let settled = self
                .query(
                    Sql::settle,
                    &[&moment(now), &tokens, &messages, &places, &words, &after, &types, &errors],
                )
                .await?;
            let settled = settled.iter().map(|row| Ok((column(row, 0)?, column(row, 1)?)));
            let settled = settled.collect::<Result<HashMap<i64, bool>, _>>().map_err(damaged)?;
            let answer = |(nth, one): (i64, &Settle)| match settled.get(&nth) {
                Some(true) => Ok(DeliveryState::Cancelled),
                Some(false) => Ok(one.settlement.state()),
                None => Err(LeaseLost(one.token)),
            };
            Ok((1..).zip(&settles).map(answer).collect())
        })
    }

    fn release(&self, tokens: Vec<LeaseToken>, now: Now) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let tokens: Vec<_> = tokens.into_iter().map(token).collect();
            self.count(Sql::release, &[&moment(now), &tokens]).await
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
        }
    }
}
