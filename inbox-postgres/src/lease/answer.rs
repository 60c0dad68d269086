use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

use inbox_core::message::Delivery;
use inbox_core::store::{Lease, LeaseToken, StoreError, Unreadable};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::lease::fates::Fates;
use crate::lease::wrong_answer::WrongAnswer;
use crate::row::{column, count, message_id, stored_message, timestamp};
use crate::schedule::damaged;
use crate::value::Span;

// What every claim answers: its own name, then a delivery, if there is one. What is left out is the same for
// all of them, and known here.
const CLAIM: usize = 0;
const LEASED_AT: usize = 1;
const SEQ: usize = 2;
const PRIORITY: usize = 3;
const ATTEMPT: usize = 4;
const DELAYED_RETRIES: usize = 5;
const MESSAGE: usize = 6;
const CONTRACT: usize = MESSAGE + 2;

// What follows the message, by statement.
const KEYED: usize = 19;
const HANDLER_KEY: usize = 19;
const TOKEN: usize = 19;
const FATE: usize = 20;

/// What a claim answered, in no order, and how long what it took is held.
pub(crate) struct Answer {
    rows: Vec<Row>,
    duration: Duration,
}

impl Answer {
    /// The rows that answer the claim with this token. A row of another claim is refused: its deliveries
    /// would run under a handler they are not for.
    pub(crate) fn to(
        claim: LeaseToken,
        rows: Vec<Row>,
        duration: Duration,
    ) -> Result<Self, StoreError> {
        let expected = Uuid::from_u128(claim.as_u128());
        // The first column, which every answer has, whatever statement it is to.
        let named = |row: &Row| column::<Uuid>(row, CLAIM).ok();
        match rows.iter().map(named).find(|named| *named != Some(expected)) {
            None if !rows.is_empty() => Ok(Self { rows, duration }),
            other => Err(WrongAnswer { expected, named: other.flatten() }.into()),
        }
    }

    /// Of `lease_keyless.sql`: one lease, if it took something.
    pub(crate) fn keyless(
        mut self,
        token: LeaseToken,
        handler_key: &str,
    ) -> Result<(Vec<Lease>, Fates), StoreError> {
        let keyed = self.rows.first().map_or(Ok(None), |row| column::<Option<i64>>(row, KEYED));
        let keyed = keyed.map_err(damaged)?.unwrap_or_default();
        self.rows.retain(has_delivery);
        let rows = sorted(self.rows).map_err(damaged)?;
        let mut fates =
            Fates { keyed: usize::try_from(keyed).unwrap_or_default(), ..Fates::default() };
        // Which it left, it does not say: the next one begins where it began.
        if fates.keyed == 0 {
            for one in &rows {
                fates.note_gone(one.priority.0, one.seq);
            }
        }
        let Some(first) = rows.first() else { return Ok((Vec::new(), fates)) };
        let mut lease = begun(token, handler_key.to_owned(), self.duration, &first.row)?;
        for one in &rows {
            add(&mut lease, &one.row)?;
        }
        Ok((vec![lease], fates))
    }

    /// Of `lease.sql`: leases by token, in the order in which they come.
    pub(crate) fn with_fates(
        mut self,
        handler_key: &str,
    ) -> Result<(Vec<Lease>, Fates), StoreError> {
        self.rows.retain(has_delivery);
        let (mut leases, mut places) = (Vec::<Lease>::new(), HashMap::new());
        let mut fates = Fates::default();
        for Ranked { priority, seq, row } in sorted(self.rows).map_err(damaged)? {
            let fate: &str = column(&row, FATE).map_err(damaged)?;
            fates.note(fate, priority.0, seq);
            if fate != "taken" {
                continue;
            }
            let token: Uuid = column(&row, TOKEN).map_err(damaged)?;
            let place = *places.entry(token).or_insert(leases.len());
            if place == leases.len() {
                let token = LeaseToken::from_u128(token.as_u128());
                leases.push(begun(token, handler_key.to_owned(), self.duration, &row)?);
            }
            add(&mut leases[place], &row)?;
        }
        Ok((leases, fates))
    }

    /// Of `lease_suspect.sql`: one delivery, if there is one, of the handler that it names.
    pub(crate) fn suspect(self, token: LeaseToken) -> Result<Option<Lease>, StoreError> {
        let Some(row) = self.rows.first().filter(|row| has_delivery(row)) else { return Ok(None) };
        let handler_key = column(row, HANDLER_KEY).map_err(damaged)?;
        let mut lease = Lease { suspect: true, ..begun(token, handler_key, self.duration, row)? };
        add(&mut lease, row)?;
        Ok(Some(lease))
    }
}

/// Whether a row says more than which claim it answers. One that cannot be read does.
fn has_delivery(row: &Row) -> bool {
    !matches!(column::<Option<Uuid>>(row, MESSAGE), Ok(None))
}

struct Ranked {
    priority: Reverse<i16>,
    seq: i64,
    row: Row,
}

/// The most urgent first, then the oldest.
fn sorted(rows: Vec<Row>) -> Result<Vec<Ranked>, String> {
    let ranked = |row: Row| {
        let (priority, seq) = (Reverse(column(&row, PRIORITY)?), column(&row, SEQ)?);
        Ok(Ranked { priority, seq, row })
    };
    let mut all: Vec<_> = rows.into_iter().map(ranked).collect::<Result<_, String>>()?;
    all.sort_unstable_by_key(|one| (one.priority, one.seq));
    Ok(all)
}

/// The lease that a row belongs to, still without its deliveries.
fn begun(
    token: LeaseToken,
    handler_key: String,
    duration: Duration,
    row: &Row,
) -> Result<Lease, StoreError> {
    let leased_at = timestamp(row, LEASED_AT).map_err(damaged)?;
    Ok(Lease {
        token,
        handler_key,
        suspect: false,
        leased_at,
        expires_at: Span(duration).after(leased_at),
        deliveries: Vec::new(),
        unreadable: Vec::new(),
    })
}

fn add(lease: &mut Lease, row: &Row) -> Result<(), StoreError> {
    let message_id = message_id(row, MESSAGE).map_err(damaged)?;
    match delivery(row, &lease.handler_key) {
        Ok(delivery) => lease.deliveries.push(delivery),
        Err(reason) => lease.unreadable.push(Unreadable { message_id, reason }),
    }
    Ok(())
}

fn delivery(row: &Row, handler_key: &str) -> Result<Delivery, String> {
    let id = message_id(row, MESSAGE)?;
    if column::<Option<&str>>(row, CONTRACT)?.is_none() {
        return Err(format!("message {id} is gone: its row was deleted"));
    }
    let stored = stored_message(row, MESSAGE)
        .map_err(|error| format!("the row of message {id} cannot be read: {error}"))?;
    Ok(Delivery {
        message: stored.message,
        accepted_at: stored.accepted_at,
        handler_key: handler_key.to_owned(),
        attempt: count(row, ATTEMPT)?,
        delayed_retries: count(row, DELAYED_RETRIES)?,
    })
}
