use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;

use inbox_core::message::{Carry, Delivery, MessageId, Shares};
use inbox_core::store::{Lease, LeaseRequest, LeaseToken, StoreError, Unreadable, Wanted};
use tokio_postgres::Row;
use uuid::Uuid;

use super::parameters::is_limited;
use super::steps::Steps;
use crate::lease::outcome::{ClaimOutcome, Scan};
use crate::lease::wrong_answer::WrongAnswer;
use crate::row::{column, count, message_id, stored_message, timestamp};
use crate::schedule::damaged;
use crate::value::Span;

// What every claim answers: its own name, then a delivery, if there is one.
const CLAIM: usize = 0;
const LEASED_AT: usize = 1;
const SEQ: usize = 2;
const LEVEL: usize = 3;
const VERSION: usize = 4;
const ATTEMPT: usize = 5;
const CRASHES: usize = 6;
const CARRY: usize = 7;
const HANDLER_KEY: usize = 8;
const MESSAGE: usize = 9;
const CONTRACT: usize = MESSAGE + 2;

// What follows the message: whether the handler has lanes and, of `claim_limited.sql`, the row's fate and the permits
// of the lease; of `lane_take.sql`, the lane.
const HAS_LANES: usize = 22;
const FATE: usize = 23;
const PERMITS: usize = 24;
const LANE: (usize, usize) = (22, 23);

// What is answered about rows with an ordering key: the claim, then a number, a level and a version; then, of
// `lane_win.sql`, whether the lane was free, and its name; of `lane_behind.sql`, whether the row was moved.
const SEEN: (usize, usize, usize) = (1, 2, 3);
const IS_FREE: usize = 4;
const SEEN_LANE: (usize, usize) = (5, 6);
const IS_MOVED: usize = 4;

/// When a run has its turn: the place of its level, and its number.
type Turn = (Option<usize>, i64);

/// What the statements of a claim answered.
pub(crate) struct ClaimAnswer {
    token: LeaseToken,
    won: Vec<Row>,
    claimed: Vec<Row>,
    taken: Vec<Row>,
    behind: Vec<Row>,
}

/// The lease, if something was taken, and what of its lanes must go back: it follows what cannot be read.
#[derive(Default)]
pub(crate) struct ReadClaim {
    pub(crate) lease: Option<Lease>,
    pub(crate) cut: Vec<MessageId>,
}

impl ClaimAnswer {
    /// The answers to the claim with this token. A row of another claim is refused: its deliveries would run
    /// under a handler they are not for.
    pub(crate) fn of(
        steps: &Steps,
        token: LeaseToken,
        answers: Vec<Vec<Row>>,
    ) -> Result<Self, StoreError> {
        let expected = Uuid::from_u128(token.as_u128());
        let mut answers = answers.into_iter().skip(usize::from(steps.lock.is_some()));
        let mut answer = |is_asked: bool| -> Result<Vec<Row>, StoreError> {
            if !is_asked {
                return Ok(Vec::new());
            }
            let rows = answers.next().unwrap_or_default();
            // The first column, which every answer has, whatever statement it is to.
            let named = |row: &Row| column::<Uuid>(row, CLAIM).ok();
            match rows.iter().map(named).find(|named| *named != Some(expected)) {
                None if !rows.is_empty() => Ok(rows),
                other => Err(WrongAnswer { expected, named: other.flatten() }.into()),
            }
        };
        Ok(Self {
            token,
            won: answer(steps.win.is_some())?,
            claimed: answer(true)?,
            taken: answer(steps.take.is_some())?,
            behind: answer(steps.behind.is_some())?,
        })
    }

    /// The deliveries in the order of levels and numbers, each run where its lane was met first; and what became
    /// of the rows that were looked at.
    pub(crate) fn read(
        self,
        request: &LeaseRequest,
        wanted: &Wanted,
        levels: &[i16],
    ) -> Result<(ReadClaim, ClaimOutcome), StoreError> {
        let mut outcome = ClaimOutcome::default();
        let runs = self.runs(is_limited(wanted), levels, &mut outcome).map_err(damaged)?;
        self.lanes(wanted, &mut outcome).map_err(damaged)?;
        let Some(leased_at) = runs.first().and_then(|(_, run)| run.first()) else {
            return Ok((ReadClaim::default(), outcome));
        };
        let leased_at = timestamp(leased_at, LEASED_AT).map_err(damaged)?;
        let permits = self.permits(is_limited(wanted)).map_err(damaged)?;
        let mut lease = Lease {
            token: self.token,
            handler_key: wanted.handler_key.clone(),
            quarantined: levels.iter().all(|level| *level > 3),
            leased_at,
            expires_at: Span(request.duration).after(leased_at),
            permits,
            deliveries: Vec::new(),
            unreadable: Vec::new(),
        };
        let mut cut = Vec::new();
        for (_, run) in runs {
            let rest = read_run(&run, is_limited(wanted), &mut lease).map_err(damaged)?;
            cut.extend(rest);
        }
        Ok((ReadClaim { lease: Some(lease), cut }, outcome))
    }

    /// How many permits of the fleet's limit the deliveries without an ordering key share.
    fn permits(&self, is_limited: bool) -> Result<Option<NonZeroU32>, String> {
        let row = self.claimed.first().filter(|_| is_limited);
        let permits = row.map(|row| column::<Option<i32>>(row, PERMITS)).transpose()?.flatten();
        Ok(permits.and_then(|permits| NonZeroU32::new(permits.unsigned_abs())))
    }

    /// What was taken, in order: what has no ordering key is a run of its own.
    fn runs(
        &self,
        is_limited: bool,
        levels: &[i16],
        outcome: &mut ClaimOutcome,
    ) -> Result<Vec<(Turn, Vec<&Row>)>, String> {
        if let Some(row) = self.claimed.first() {
            outcome.has_lanes = column::<Option<bool>>(row, HAS_LANES)?.is_some();
        }
        let turn = |level: i16| levels.iter().position(|one| *one == level);
        let mut runs = Vec::new();
        // What was looked at and not taken has a number, and no message.
        let looked_at = |row: &&Row| !matches!(column::<Option<i64>>(row, SEQ), Ok(None));
        for row in self.claimed.iter().filter(looked_at) {
            let (level, seq): (i16, i64) = (column(row, LEVEL)?, column(row, SEQ)?);
            let scan = (level, column(row, VERSION)?);
            let fate = if is_limited { column(row, FATE)? } else { "taken" };
            outcome.moved += usize::from(fate == "moved");
            match fate {
                // What the fleet has no room for is ready still, and needs no second look until it has.
                "full" => outcome.free.note_kept(scan, seq),
                _ => outcome.free.note_gone(scan, seq),
            }
            if fate == "taken" {
                runs.push(((turn(level), seq), vec![row]));
            }
        }
        let mut met: HashMap<(&str, &str), Turn> = HashMap::new();
        for ((level, _), seq, row) in seen(&self.won)? {
            let lane = (column(row, SEEN_LANE.0)?, column(row, SEEN_LANE.1)?);
            let first = met.entry(lane).or_insert((turn(level), seq));
            *first = (*first).min((turn(level), seq));
        }
        let has_delivery = |row: &&Row| !matches!(column::<Option<Uuid>>(row, MESSAGE), Ok(None));
        let mut last = None;
        for row in self.taken.iter().filter(has_delivery) {
            let lane: (&str, &str) = (column(row, LANE.0)?, column(row, LANE.1)?);
            match runs.last_mut().filter(|_| last == Some(lane)) {
                Some((_, run)) => run.push(row),
                None => runs.push((met.get(&lane).copied().unwrap_or_default(), vec![row])),
            }
            last = Some(lane);
        }
        runs.sort_by_key(|(turn, _)| *turn);
        Ok(runs)
    }

    /// What became of rows with an ordering key: what was not taken and is not behind a lane is ready still.
    fn lanes(&self, wanted: &Wanted, outcome: &mut ClaimOutcome) -> Result<(), String> {
        let mut free = HashSet::new();
        for (scan, seq, row) in seen(&self.won)? {
            outcome.lanes.note_gone(scan, seq);
            if column::<Option<bool>>(row, IS_FREE)? == Some(true) {
                free.insert(seq);
            }
        }
        for (scan, seq, row) in seen(&self.behind)? {
            match column(row, IS_MOVED)? {
                true => {
                    outcome.moved += 1;
                    outcome.lanes.note_gone(scan, seq);
                }
                false => {
                    outcome.lanes.note_kept(scan, seq);
                    outcome.has_left |= free.contains(&seq) && !is_limited(wanted);
                }
            }
        }
        Ok(())
    }
}

/// Adds a run to the lease, and answers what of it has to go back: what follows one that cannot be read, which is
/// a run of its own.
fn read_run(run: &[&Row], is_limited: bool, lease: &mut Lease) -> Result<Vec<MessageId>, String> {
    for (at, row) in run.iter().enumerate() {
        let rest = match delivery(row, is_limited) {
            Ok(delivery) => {
                lease.deliveries.push(delivery);
                continue;
            }
            Err(reason) if at == 0 => {
                lease.unreadable.push(Unreadable { message_id: message_id(row, MESSAGE)?, reason });
                &run[1..]
            }
            Err(_) => &run[at..],
        };
        return rest.iter().map(|row| message_id(row, MESSAGE)).collect();
    }
    Ok(Vec::new())
}

/// The rows with an ordering key that were looked at, each with its scan and its number.
fn seen(rows: &[Row]) -> Result<Vec<(Scan, i64, &Row)>, String> {
    let (seq, level, version) = SEEN;
    let looked_at = rows.iter().filter(|row| !matches!(column::<Option<i64>>(row, seq), Ok(None)));
    looked_at
        .map(|row| Ok(((column(row, level)?, column(row, version)?), column(row, seq)?, row)))
        .collect()
}

fn delivery(row: &Row, is_limited: bool) -> Result<Delivery, String> {
    let id = message_id(row, MESSAGE)?;
    if column::<Option<&str>>(row, CONTRACT)?.is_none() {
        return Err(format!("message {id} is gone: its row was deleted"));
    }
    let stored = stored_message(row, MESSAGE)
        .map_err(|error| format!("the row of message {id} cannot be read: {error}"))?;
    Ok(Delivery {
        shares: Shares {
            lane: stored.message.ordering_key.is_some(),
            // Another worker may limit what shares a concurrency key, even if this one does not.
            limit: is_limited || stored.message.concurrency_key.is_some(),
        },
        message: stored.message,
        accepted_at: stored.accepted_at,
        handler_key: column(row, HANDLER_KEY)?,
        attempt: count(row, ATTEMPT)?,
        crashes: count(row, CRASHES)?,
        carry: Carry::from_json(column(row, CARRY)?)?,
    })
}
