use std::collections::{BTreeMap, BTreeSet, VecDeque};

use deadpool_postgres::Object;
use futures_util::future::join;
use futures_util::stream::{FuturesOrdered, StreamExt as _};
use inbox_core::Now;
use inbox_core::store::{AfterDead, LeaseRequest, LeaseToken, StoreError, Wanted};
use uuid::Uuid;

use crate::PostgresStore;
use crate::lease::answer::ClaimRows;
use crate::lease::claimed::{Asked, Claimed};
use crate::lease::outcome::{ClaimOutcome, Scan};
use crate::lease::watermark::{Claims, Start};
use crate::lease::wrong_answer::is_wrong_answer;
use crate::parameter::Parameter;
use crate::schedule::moment;
use crate::sql::Sql;
use crate::store::Parameters;
use crate::value::Span;

/// How often one call goes on after it found what has to wait behind others.
const MOVES: u32 = 20;

/// How many rows it looks at then, however few it wants.
const FAR: u32 = 500;

/// Which rows a claim looks at: so many, by level in this order, from a number on.
pub(super) struct Window<'a> {
    pub(super) levels: &'a [i16],
    pub(super) lows: &'a BTreeMap<Scan, i64>,
    pub(super) size: u32,
}

impl PostgresStore {
    pub(crate) async fn claim(
        &self,
        request: &LeaseRequest,
        now: Now,
    ) -> Result<Claimed, StoreError> {
        let mut working = self.connection().await?;
        let claimed = self.claim_on(working.get()?, request, now).await;
        working.done_with(&claimed);
        claimed
    }

    async fn claim_on(
        &self,
        connection: &Object,
        request: &LeaseRequest,
        now: Now,
    ) -> Result<Claimed, StoreError> {
        // One statement for each key, and one for what is quarantined, all sent at once.
        let claims = request
            .wanted
            .iter()
            .map(|wanted| self.claim_key(connection, request, wanted, now))
            .collect::<FuturesOrdered<_>>();
        let quarantined = self.quarantined(connection, request);
        // Whatever fails from here on, what was claimed goes back.
        let (claimed, quarantined) = join(self.all_of(claims), quarantined).await;
        let mut claimed = claimed?;
        for (wanted, level) in quarantined? {
            let group = self.claim_quarantined(connection, request, wanted, level, now).await?;
            // One group at a time; where a handler has no room for one, others have their turn.
            let is_enough = group.count() > 0;
            claimed.absorb(group);
            if is_enough {
                break;
            }
        }
        Ok(claimed)
    }

    /// All are waited for: a claim that is dropped on its way would hold what nobody works on, until that is
    /// noticed. Only where answers are shifted the last one would never come.
    async fn all_of(
        &self,
        mut claims: FuturesOrdered<impl Future<Output = Result<Claimed, StoreError>>>,
    ) -> Result<Claimed, StoreError> {
        let (mut claimed, mut failed) = (Claimed::new(self.clone(), Vec::new()), None);
        while let Some(batch) = claims.next().await {
            match batch {
                Ok(batch) => claimed.absorb(batch),
                Err(error) if is_wrong_answer(&error) => return Err(error),
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            // What one key's trouble left of the others is worked on.
            Some(error) if claimed.leases().is_empty() => Err(error),
            _ => Ok(claimed),
        }
    }

    /// Claims from the mark and, if it is time or there is room, from the beginning.
    async fn claim_key(
        &self,
        connection: &Object,
        request: &LeaseRequest,
        wanted: &Wanted,
        now: Now,
    ) -> Result<Claimed, StoreError> {
        let (marks, claims) = (&self.inner().watermarks, Claims::of(request, wanted));
        let mark = marks.of(&claims);
        let levels = request.priorities().map(|priority| i16::from(priority.level()));
        let mut claimed = Claimed::new(self.clone(), Vec::new());
        let mut room = wanted.limit.get();
        // From where, and whether all that is ready was above it.
        let starts = mark.starts().into_iter().map(|start| match start {
            Start::Beginning => (BTreeMap::new(), true),
            Start::Mark => (mark.lows.clone(), false),
        });
        let mut starts: VecDeque<_> = starts.collect();
        let (mut moves, mut has_left) = (0, false);
        while let Some((mut lows, is_whole)) = starts.pop_front().filter(|_| room > 0) {
            // Noted however it ends: a sweep that takes too long must not be the next thing tried.
            let sweeping = lows.is_empty().then(|| marks.sweeping(&claims));
            let size = if moves == 0 { room } else { room.max(FAR) };
            let window = Window { levels: &levels, lows: &lows, size };
            let (found, outcome) =
                self.claim_from(connection, request, wanted, room, window, now).await?;
            marks.found(&claims, &outcome);
            drop(sweeping);
            room = room.saturating_sub(found.count());
            claimed.absorb(found);
            has_left |= outcome.left > 0;
            if outcome.keyed > 0 {
                // Again, with all that it takes.
                starts.push_front((lows, is_whole));
            } else if outcome.moved > 0 && moves < MOVES {
                // What was moved behind a lane took the room of others.
                moves += 1;
                outcome.advance(&mut lows);
                starts.push_front((lows, is_whole));
            } else if outcome.moved > 0 {
                self.ring_here();
            } else if is_whole && !has_left {
                // It saw all there is, if it was not enough.
                starts.clear();
            }
        }
        if has_left {
            self.ring_soon();
        }
        marks.ended(&claims, room > 0 && !has_left);
        Ok(claimed)
    }

    pub(super) async fn claim_from(
        &self,
        connection: &Object,
        request: &LeaseRequest,
        wanted: &Wanted,
        limit: u32,
        window: Window<'_>,
        now: Now,
    ) -> Result<(Claimed, ClaimOutcome), StoreError> {
        let token = LeaseToken::new();
        let asked = Asked::new(self, token, now);
        let is_limited = wanted.terms.fleet.or(wanted.terms.per_key).is_some();
        // Most handlers have never seen a key: their claims need not know what one is.
        let has_keys = self.inner().watermarks.of(&Claims::of(request, wanted)).has_keys;
        let is_shared = has_keys || is_limited || window.levels.iter().any(|level| *level > 3);
        let versions = wanted.versions.iter().filter_map(|version| i32::try_from(*version).ok());
        let scans = versions
            .flat_map(|version| window.levels.iter().map(move |level| (*level, version)))
            .map(|scan| (scan, window.lows.get(&scan).copied().unwrap_or(i64::MIN)));
        let (scans, lows): (Vec<Scan>, Vec<i64>) = scans.unzip();
        let (scan_levels, scan_versions): (Vec<_>, Vec<_>) = scans.into_iter().unzip();
        let number = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
        let base: [&dyn Parameter; 13] = [
            &moment(now),
            &Uuid::from_u128(token.as_u128()),
            &request.host,
            &wanted.handler_key,
            &window.levels,
            &scan_levels,
            &scan_versions,
            &lows,
            &i64::from(window.size),
            &number(wanted.max_crashes.get()),
            &Span(request.duration),
            &is_limited,
            &(wanted.terms.after_dead == AfterDead::Block),
        ];
        let (limit, units) = (i64::from(limit), |limit: Option<_>| limit.map(number));
        let fleet = units(wanted.terms.fleet.map(std::num::NonZeroU32::get));
        let per_key = units(wanted.terms.per_key.map(std::num::NonZeroU32::get));
        let tenants = tenants(request);
        let mut parameters: Vec<&dyn Parameter> = base.to_vec();
        if is_shared {
            parameters.push(&limit);
        }
        if is_limited {
            parameters.extend([&fleet as &dyn Parameter, &per_key]);
        }
        parameters.extend(tenants.as_ref().map(|tenants| tenants as &dyn Parameter));
        let guarded: &[&str] = if is_limited { &[&wanted.handler_key] } else { &[] };
        let sql = statement(request, is_shared, is_limited);
        let rows = self.query_guarded(connection, guarded, sql, &parameters).await;
        let answer = rows.and_then(|rows| ClaimRows::to(token, rows));
        let rows = asked.answered(answer)?;
        let (lease, outcome) = rows.read(request, wanted, window.levels, is_shared)?;
        Ok((Claimed::new(self.clone(), lease.into_iter().collect()), outcome))
    }

    /// Runs a claim, after those of others for these handlers, which have limits.
    async fn query_guarded(
        &self,
        connection: &Object,
        handler_keys: &[&str],
        sql: Sql,
        parameters: Parameters<'_>,
    ) -> Result<Vec<tokio_postgres::Row>, StoreError> {
        if handler_keys.is_empty() {
            return self.query_on(connection, sql, parameters).await;
        }
        let statements: [(&str, Parameters<'_>); 2] =
            [(self.text(Sql::limit_lock), &[&handler_keys]), (self.text(sql), parameters)];
        let mut answers = self.client(connection).query_all(&statements).await?;
        Ok(answers.pop().unwrap_or_default())
    }
}

/// The statement for this worker, and for what its deliveries may share.
fn statement(request: &LeaseRequest, is_shared: bool, is_limited: bool) -> Sql {
    match (&request.tenants, request.serves("")) {
        (None, _) if is_limited => Sql::claim_limited,
        (None, _) if is_shared => Sql::claim_shared,
        (None, _) => Sql::claim,
        (Some(_), false) if is_limited => Sql::claim_limited_tenants,
        (Some(_), false) if is_shared => Sql::claim_shared_tenants,
        (Some(_), false) => Sql::claim_tenants,
        (Some(_), true) if is_limited => Sql::claim_limited_tenants_and_none,
        (Some(_), true) if is_shared => Sql::claim_shared_tenants_and_none,
        (Some(_), true) => Sql::claim_tenants_and_none,
    }
}

/// The tenants that the worker serves, each once, unless all.
pub(super) fn tenants(request: &LeaseRequest) -> Option<Vec<&str>> {
    let served: BTreeSet<_> = request.tenants.as_ref()?.iter().map(String::as_str).collect();
    Some(served.into_iter().collect())
}
