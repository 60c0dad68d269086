use inbox_core::message::{Carry, Delivery};
use inbox_core::store::{Lease, LeaseRequest, LeaseToken, StoreError, Unreadable, Wanted};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::lease::outcome::ClaimOutcome;
use crate::lease::wrong_answer::WrongAnswer;
use crate::row::{column, count, message_id, stored_message, timestamp};
use crate::schedule::damaged;
use crate::value::Span;

// What every claim answers: its own name, then a delivery, if there is one. What is left out is the same for
// all of them, and known here.
const CLAIM: usize = 0;
const LEASED_AT: usize = 1;
const SEQ: usize = 2;
const LEVEL: usize = 3;
const VERSION: usize = 4;
const ATTEMPT: usize = 5;
const CARRY: usize = 6;
const MESSAGE: usize = 7;
const CONTRACT: usize = MESSAGE + 2;

// What follows the message: of `claim.sql`, how many rows had a key; of `claim_shared.sql`, a row's fate.
const KEYED: usize = 20;
const FATE: usize = 20;

/// What a claim answered, in no order.
pub(crate) struct ClaimRows {
    token: LeaseToken,
    rows: Vec<Row>,
}

impl ClaimRows {
    /// The rows that answer the claim with this token. A row of another claim is refused: its deliveries
    /// would run under a handler they are not for.
    pub(crate) fn to(token: LeaseToken, rows: Vec<Row>) -> Result<Self, StoreError> {
        let expected = Uuid::from_u128(token.as_u128());
        // The first column, which every answer has, whatever statement it is to.
        let named = |row: &Row| column::<Uuid>(row, CLAIM).ok();
        match rows.iter().map(named).find(|named| *named != Some(expected)) {
            None if !rows.is_empty() => Ok(Self { token, rows }),
            other => Err(WrongAnswer { expected, named: other.flatten() }.into()),
        }
    }

    /// The lease, if something was taken, in the order of levels and numbers; and what became of the rows
    /// that were looked at.
    pub(crate) fn read(
        self,
        request: &LeaseRequest,
        wanted: &Wanted,
        levels: &[i16],
        is_shared: bool,
    ) -> Result<(Option<Lease>, ClaimOutcome), StoreError> {
        let mut outcome = ClaimOutcome::default();
        if let (false, Some(row)) = (is_shared, self.rows.first()) {
            let keyed: i64 = column(row, KEYED).map_err(damaged)?;
            outcome.keyed = usize::try_from(keyed).unwrap_or_default();
        }
        let is_limited = wanted.terms.fleet.or(wanted.terms.per_key).is_some();
        let mut lease = None;
        for (level, seq, row) in sorted(self.rows, levels).map_err(damaged)? {
            let fate = if is_shared { column(&row, FATE).map_err(damaged)? } else { "taken" };
            // Which were left, the lean claim does not say: the next one begins where it began.
            if outcome.keyed == 0 {
                outcome.note(fate, (level, column(&row, VERSION).map_err(damaged)?), seq);
            }
            if fate != "taken" {
                continue;
            }
            if lease.is_none() {
                let leased_at = timestamp(&row, LEASED_AT).map_err(damaged)?;
                lease = Some(Lease {
                    token: self.token,
                    handler_key: wanted.handler_key.clone(),
                    quarantined: level > 3,
                    leased_at,
                    expires_at: Span(request.duration).after(leased_at),
                    deliveries: Vec::new(),
                    unreadable: Vec::new(),
                });
            }
            if let Some(lease) = &mut lease {
                match delivery(&row, &wanted.handler_key, is_limited) {
                    Ok(delivery) => lease.deliveries.push(delivery),
                    Err(reason) => {
                        let message_id = message_id(&row, MESSAGE).map_err(damaged)?;
                        lease.unreadable.push(Unreadable { message_id, reason });
                    }
                }
            }
        }
        Ok((lease, outcome))
    }
}

/// The rows with a delivery, in the order of claiming, each with its level and its number.
fn sorted(rows: Vec<Row>, levels: &[i16]) -> Result<Vec<(i16, i64, Row)>, String> {
    // One that cannot be read says more than which claim it answers.
    let has_delivery = |row: &Row| !matches!(column::<Option<Uuid>>(row, MESSAGE), Ok(None));
    let ranked = |row: Row| Ok((column(&row, LEVEL)?, column(&row, SEQ)?, row));
    let rows = rows.into_iter().filter(has_delivery);
    let mut all: Vec<(i16, i64, Row)> = rows.map(ranked).collect::<Result<_, String>>()?;
    let turn = |level: i16| levels.iter().position(|one| *one == level);
    all.sort_unstable_by_key(|(level, seq, _)| (turn(*level), *seq));
    Ok(all)
}

fn delivery(row: &Row, handler_key: &str, is_limited: bool) -> Result<Delivery, String> {
    let id = message_id(row, MESSAGE)?;
    if column::<Option<&str>>(row, CONTRACT)?.is_none() {
        return Err(format!("message {id} is gone: its row was deleted"));
    }
    let stored = stored_message(row, MESSAGE)
        .map_err(|error| format!("the row of message {id} cannot be read: {error}"))?;
    Ok(Delivery {
        // Another worker may limit what shares a concurrency key, even if this one does not.
        shares: is_limited
            || stored.message.ordering_key.is_some()
            || stored.message.concurrency_key.is_some(),
        message: stored.message,
        accepted_at: stored.accepted_at,
        handler_key: handler_key.to_owned(),
        attempt: count(row, ATTEMPT)?,
        carry: Carry::from_json(column(row, CARRY)?)?,
    })
}
