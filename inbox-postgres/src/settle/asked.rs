use std::collections::HashMap;

use inbox_core::Now;
use inbox_core::settle::Settlement;
use inbox_core::store::{DeliveryState, Settle, StoreError};
use tokio_postgres::Row;
use uuid::Uuid;

use super::Settled;
use crate::parameter::Parameter;
use crate::row::{column, uuid};
use crate::schedule::{damaged, moment};
use crate::shared::number;
use crate::sql::Sql;
use crate::value::{Json, Moment, Span};

/// Settlements as the statements take them: in the order of leases and messages, each delivery once.
pub(crate) struct AskedSettlements<'a> {
    settles: Vec<&'a Settle>,
    now: Option<Moment>,
    leases: Vec<Uuid>,
    messages: Vec<Uuid>,
    /// The deliveries that hold a lane, and those that may count for a limit.
    in_lanes: (Vec<Uuid>, Vec<Uuid>),
    limited: (Vec<Uuid>, Vec<Uuid>),
    places: Vec<&'static str>,
    words: Vec<Option<&'static str>>,
    after: Vec<Option<Span>>,
    error_types: Vec<Option<&'a str>>,
    errors: Vec<Option<&'a str>>,
    carries: Vec<Option<Json>>,
    /// What goes back does so in the order in which it was asked.
    turns: Vec<i64>,
}

impl<'a> AskedSettlements<'a> {
    pub(crate) fn of(settles: &'a [Settle], now: Now) -> Self {
        let mut settles: Vec<_> = (0_i64..).zip(settles).collect();
        // In one order, so that no two calls wait for each other. Asked twice for one delivery, the first
        // stands.
        settles.sort_by_key(|(_, one)| (one.token, one.message_id));
        settles.dedup_by_key(|(_, one)| (one.token, one.message_id));
        let (turns, settles): (Vec<_>, Vec<_>) = settles.into_iter().unzip();
        let names = |one: &&Settle| (Uuid::from_u128(one.token.as_u128()), uuid(one.message_id));
        let (leases, messages) = settles.iter().map(names).unzip();
        let mut asked = Self {
            now: moment(now),
            leases,
            messages,
            in_lanes: settles.iter().filter(|one| one.shares.lane).map(names).unzip(),
            limited: settles.iter().filter(|one| one.shares.limit).map(names).unzip(),
            places: Vec::new(),
            words: Vec::new(),
            after: Vec::new(),
            error_types: Vec::new(),
            errors: Vec::new(),
            carries: Vec::new(),
            turns,
            settles: Vec::new(),
        };
        for one in &settles {
            asked.push(one);
        }
        Self { settles, ..asked }
    }

    fn push(&mut self, one: &'a Settle) {
        let (place, word, after, error) = match &one.settlement {
            Settlement::Done(outcome) => ("done", Some(outcome.as_str()), None, None),
            Settlement::Retry { after, error } => ("waiting", None, Some(*after), Some(error)),
            Settlement::Dead { reason, error } => {
                ("dead", Some(reason.as_str()), None, Some(error))
            }
            Settlement::Release => ("ready", None, None, None),
        };
        self.places.push(place);
        self.words.push(word);
        self.after.push(after.map(Span));
        self.error_types.push(error.map(|error| error.error_type.as_str()));
        self.errors.push(error.map(|error| error.text.as_str()));
        self.carries.push(one.carry.to_json().map(|text| Json(text.into_bytes())));
    }

    fn is_done(&self) -> bool {
        self.places.iter().all(|place| *place == "done")
    }

    pub(crate) fn sql(&self) -> Sql {
        if self.is_done() { Sql::settle_done } else { Sql::settle }
    }

    /// The same within the transaction of a handler.
    pub(crate) fn sql_within(&self) -> Sql {
        if self.is_done() { Sql::settle_done_within } else { Sql::settle_within }
    }

    pub(crate) fn parameters(&self) -> Vec<&dyn Parameter> {
        let mut parameters: Vec<&dyn Parameter> = vec![&self.now, &self.leases, &self.messages];
        match self.is_done() {
            true => parameters.push(&self.words),
            false => {
                let rest: [&dyn Parameter; 7] = [
                    &self.places,
                    &self.words,
                    &self.after,
                    &self.error_types,
                    &self.errors,
                    &self.carries,
                    &self.turns,
                ];
                parameters.extend(rest);
            }
        }
        parameters
    }

    /// The settlement, with what comes before and after it where something is shared: locks of lanes and limits,
    /// those that have room now, and the hand-over of lanes.
    pub(crate) fn statements<'s>(
        &'s self,
        settlement: Sql,
        parameters: &[&'s dyn Parameter],
    ) -> Vec<(Sql, Vec<&'s dyn Parameter>)> {
        let mut statements: Vec<(Sql, Vec<&dyn Parameter>)> = Vec::new();
        if self.has_lanes() {
            let (leases, messages) = &self.in_lanes;
            statements.push((Sql::lane_lock_held, vec![leases, messages]));
        }
        if self.has_limits() {
            let (leases, messages) = &self.limited;
            statements.push((Sql::limit_share_held, vec![leases, messages]));
            statements.push((Sql::limit_wake_held, vec![leases, messages]));
        }
        statements.push((settlement, parameters.to_vec()));
        if self.has_lanes() {
            statements.push((Sql::lane_end_held, vec![&self.now]));
        }
        statements
    }

    fn has_lanes(&self) -> bool {
        !self.in_lanes.0.is_empty()
    }

    fn has_limits(&self) -> bool {
        !self.limited.0.is_empty()
    }

    pub(crate) fn len(&self) -> i64 {
        i64::try_from(self.settles.len()).unwrap_or(i64::MAX)
    }

    /// Reads the answers to these [statements](Self::statements).
    pub(crate) fn read(&self, answers: &[Vec<Row>]) -> Result<Settled, StoreError> {
        let mut answers = answers.iter().skip(usize::from(self.has_lanes()));
        let mut has_next = false;
        if self.has_limits() {
            has_next |= number(answers.by_ref().nth(1).map_or(&[], |rows| rows))? > 0;
        }
        let Some(rows) = answers.next() else { return Ok(Settled::default()) };
        has_next |= number(answers.next().map_or(&[], |rows| rows))? > 0;
        let mut states = HashMap::with_capacity(rows.len());
        for row in rows {
            // The last row of a settlement within a transaction says only that it was checked.
            let Some(nth) = column::<Option<i64>>(row, 0).map_err(damaged)? else { continue };
            let one = usize::try_from(nth - 1).ok().and_then(|at| self.settles.get(at));
            let one =
                one.ok_or_else(|| damaged("an answer to nothing that was asked".to_owned()))?;
            let state = match column(row, 1).map_err(damaged)? {
                true => DeliveryState::Cancelled,
                false => one.settlement.state(),
            };
            states.insert((one.token, one.message_id), state);
        }
        Ok(Settled { states, has_next })
    }
}
