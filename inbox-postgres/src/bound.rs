//! Leases whose deliveries hold a lane or a slot: whoever ends one hands those on.
//!
//! Most leases hold none, and must not pay for the others. So the token says it: that of a bound lease is a
//! UUID of version 8, which is what the standard leaves to applications.

use inbox_core::Now;
use inbox_core::store::{LeaseToken, StoreError};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::PostgresStore;
use crate::client::Client;
use crate::row::column;
use crate::schedule::{damaged, moment};
use crate::sql::Sql;
use crate::store::Parameters;

const VERSION: u128 = 0xF << 76;
const BOUND: u128 = 8 << 76;

/// A token for what is bound.
pub(crate) fn bound_token() -> LeaseToken {
    LeaseToken::from_u128(LeaseToken::new().as_u128() & !VERSION | BOUND)
}

/// Whether deliveries under it hold a lane or a slot.
pub(crate) fn is_bound(token: LeaseToken) -> bool {
    token.as_u128() & VERSION == BOUND
}

/// What ends with a statement: these deliveries, or all that is held under these tokens.
#[derive(Clone, Copy)]
pub(crate) struct Ends<'a> {
    /// The statement that locks the lanes concerned.
    pub(crate) lock: Sql,
    pub(crate) messages: &'a [Uuid],
    pub(crate) tokens: &'a [Uuid],
}

/// What a statement answered, and whether someone else has a turn because of it.
pub(crate) struct HandedOn {
    pub(crate) rows: Vec<Row>,
    pub(crate) has_next: bool,
}

impl PostgresStore {
    /// Runs a statement that may end what holds lanes and slots, and hands them on. They are locked by
    /// statements of their own, before: only so does the hand-over see who was put behind them.
    pub(crate) async fn hand_on(
        &self,
        client: Client<'_>,
        Ends { lock, messages, tokens }: Ends<'_>,
        (sql, parameters): (Sql, Parameters<'_>),
        now: Now,
    ) -> Result<HandedOn, StoreError> {
        let statements: [(&str, Parameters<'_>); 5] = [
            (self.text(lock), &[&messages]),
            (self.text(Sql::slot_lock), &[&tokens]),
            (self.text(sql), parameters),
            (self.text(Sql::lane_pass), &[&moment(now), &messages]),
            (self.text(Sql::slot_free), &[&tokens]),
        ];
        let mut answers = client.query_all(&statements).await?.into_iter().skip(2);
        let rows = answers.next().unwrap_or_default();
        let next = answers.map(|rows| number(&rows)).collect::<Result<Vec<_>, _>>()?;
        Ok(HandedOn { rows, has_next: next.iter().any(|next| *next > 0) })
    }

    /// Hands on what those held that are over already. Should it not come to that,
    /// [`mend`](inbox_core::store::Maintain::mend) finds it.
    pub(crate) async fn hand_on_after(
        &self,
        over: &[Uuid],
        tokens: &[Uuid],
        now: Now,
    ) -> Result<(), StoreError> {
        let bound = |token: &&Uuid| is_bound(LeaseToken::from_u128(token.as_u128()));
        let tokens: Vec<_> = tokens.iter().filter(bound).collect();
        let lanes: [(&str, Parameters<'_>); 2] = [
            (self.text(Sql::lane_lock), &[&over]),
            (self.text(Sql::lane_pass), &[&moment(now), &over]),
        ];
        let slots: [(&str, Parameters<'_>); 2] =
            [(self.text(Sql::slot_lock), &[&tokens]), (self.text(Sql::slot_free), &[&tokens])];
        let mut next = 0;
        if !over.is_empty() {
            next += self.count_last(&lanes).await?;
        }
        if !tokens.is_empty() {
            next += self.count_last(&slots).await?;
        }
        if next > 0 {
            self.ring_everywhere();
        }
        Ok(())
    }

    /// Runs statements in one transaction, and answers the number that the last one does.
    pub(crate) async fn count_last(
        &self,
        statements: &[(&str, Parameters<'_>)],
    ) -> Result<u64, StoreError> {
        let answers = self
            .in_time(async {
                let mut working = self.connection().await?;
                let answer = self.client(working.get()?).query_all(statements).await;
                working.done_with(&answer);
                answer
            })
            .await?;
        answers.last().map_or(Ok(0), |rows| number(rows))
    }
}

/// The number that a statement answers.
fn number(rows: &[Row]) -> Result<u64, StoreError> {
    let number = rows.first().map_or(Ok(0), |row| column::<i64>(row, 0)).map_err(damaged)?;
    Ok(number.unsigned_abs())
}
