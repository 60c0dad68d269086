use inbox_core::settle::{DoneOutcome, Settlement};
use inbox_core::store::{DeliveryState, LeaseLost, LeaseToken, Settle, StateStore, StoreFuture};
use inbox_core::{Now, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, Result, params};

use crate::SqliteStore;
use crate::held::Held;
use crate::release::{abandon, give_back, release};
use crate::row::blob;
use crate::sql::sql;
use crate::wake::Turns;

impl StateStore for SqliteStore {
    fn settle(
        &self,
        settles: Vec<Settle>,
        now: Now,
    ) -> StoreFuture<'_, Vec<std::result::Result<DeliveryState, LeaseLost>>> {
        Box::pin(async move {
            let settled = self.write_and_ring(move |connection| {
                let (now, mut freed) = (now.or_else(Timestamp::now), false);
                let settled = settles.iter().map(|one| settle(connection, one, now, &mut freed));
                Ok(Turns { answer: settled.collect::<Result<Vec<_>>>()?, freed })
            });
            Ok(settled.await?.answer)
        })
    }

    fn release(&self, tokens: Vec<LeaseToken>, now: Now) -> StoreFuture<'_, u64> {
        Box::pin(self.write_and_ring(move |connection| release(connection, &tokens, now)))
    }

    fn abandon(&self, tokens: Vec<LeaseToken>, now: Now) {
        abandon(self.calls(), self.the_bell(), tokens, now);
    }
}

fn settle(
    connection: &Connection,
    one: &Settle,
    now: Timestamp,
    freed: &mut bool,
) -> Result<std::result::Result<DeliveryState, LeaseLost>> {
    let held = connection
        .prepare_cached(sql!("settle_take"))?
        .query_row(
            params![blob(one.token.as_u128()), blob(one.message_id.as_u128()), now.as_micros()],
            Held::read,
        )
        .optional()?;
    let Some(held) = held else { return Ok(Err(LeaseLost(one.token))) };
    *freed |= held.bound;
    match &one.settlement {
        Settlement::Done(outcome) => held.done(connection, *outcome, now)?,
        // Whoever cancelled it wants no other attempt, and no dead letter.
        Settlement::Retry { error, .. } | Settlement::Dead { error, .. } if held.cancelled => {
            held.done(connection, DoneOutcome::Cancelled, now)?;
            held.record(connection, error, now)?;
            return Ok(Ok(DeliveryState::Cancelled));
        }
        Settlement::Retry { after, error } => {
            held.retry(connection, now.saturating_add(*after), error, now)?;
        }
        Settlement::Dead { reason, error } => held.dead(connection, *reason, error, now)?,
        Settlement::Release => return give_back(connection, held, now).map(Ok),
    }
    Ok(Ok(one.settlement.state()))
}
