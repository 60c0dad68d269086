use std::collections::{BTreeSet, VecDeque};
use std::num::NonZeroU32;

use deadpool_postgres::Object;
use futures_util::stream::{FuturesOrdered, StreamExt as _};
use inbox_core::Now;
use inbox_core::store::{AfterDead, LeaseRequest, LeaseToken, StoreError, Wanted};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::PostgresStore;
use crate::bound::bound_token;
use crate::lease::answer::Answer;
use crate::lease::claimed::{Asked, Claimed};
use crate::lease::fates::Fates;
use crate::lease::marks::{BEGINNING, Claims};
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

/// Which rows a claim looks at: so many, by priority from a number on.
struct Window {
    low: [i64; 4],
    size: i64,
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
        // Whatever fails from here on, what is in here goes back.
        let mut claimed = self.claim_suspect(connection, request, now).await?;
        let suspect = claimed.leases().first().map(|lease| lease.handler_key.clone());
        // One statement for each key, all sent at once.
        let claims = request.wanted.iter().map(|wanted| {
            let has_suspect = suspect.as_deref() == Some(wanted.handler_key.as_str());
            let limit = wanted.limit.get() - u32::from(has_suspect);
            self.claim_batch(connection, request, wanted, limit, now)
        });
        // All are waited for: a claim that is dropped on its way would hold what nobody works on, until that
        // is noticed. Only where answers are shifted the last one would never come.
        let (mut claims, mut failed) = (claims.collect::<FuturesOrdered<_>>(), None);
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
    async fn claim_batch(
        &self,
        connection: &Object,
        request: &LeaseRequest,
        wanted: &Wanted,
        limit: u32,
        now: Now,
    ) -> Result<Claimed, StoreError> {
        let (marks, claims) = (&self.inner().marks, Claims::of(request, wanted));
        let mark = marks.of(&claims);
        let mut claimed = Claimed::new(self.clone(), Vec::new());
        let mut room = limit;
        // From where, and whether all that is ready was above it.
        let starts = mark.starts().into_iter().map(|low| (low, low == BEGINNING));
        let mut starts: VecDeque<_> = starts.collect();
        let (mut moves, mut has_left) = (0, false);
        while let Some((low, is_whole)) = starts.pop_front().filter(|_| room > 0) {
            // Noted however it ends: a sweep that takes too long must not be the next thing tried.
            let sweeping = (low == BEGINNING).then(|| marks.sweeping(&claims));
            let size = if moves == 0 { room } else { room.max(FAR) }.into();
            let window = Window { low, size };
            let (found, fates) =
                self.claim_from(connection, request, wanted, room, window, now).await?;
            drop(sweeping);
            room = room.saturating_sub(found.count());
            claimed.absorb(found);
            has_left |= fates.left > 0;
            if fates.keyed > 0 {
                // Again, with all that it takes.
                starts.push_front((low, is_whole));
            } else if fates.moved > 0 && moves < MOVES {
                // What was moved behind a lane took the room of others.
                moves += 1;
                starts.push_front((fates.after(low), is_whole));
            } else if fates.moved > 0 {
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

    async fn claim_from(
        &self,
        connection: &Object,
        request: &LeaseRequest,
        wanted: &Wanted,
        limit: u32,
        Window { low, size }: Window,
        now: Now,
    ) -> Result<(Claimed, Fates), StoreError> {
        let (token, bound) = (LeaseToken::new(), bound_tokens(wanted, limit));
        let asked = Asked::new(self, bound.iter().copied().chain([token]).collect(), now);
        let (moment, plain) = (moment(now), Uuid::from_u128(token.as_u128()));
        let bound: Vec<_> = bound.iter().map(|token| Uuid::from_u128(token.as_u128())).collect();
        let (versions, limit, attempts) = (versions(wanted), i64::from(limit), attempts(wanted));
        let (span, tenants) = (Span(request.duration), tenants(request));
        let (fleet, per_key) = (units(wanted.terms.fleet), units(wanted.terms.per_key));
        let is_limited = fleet.is_some() || per_key.is_some();
        let is_bound = wanted.terms.apart || is_limited;
        // Most handlers have never seen a key: their claims need not know what one is.
        let is_keyless = !is_bound && !self.inner().marks.of(&Claims::of(request, wanted)).has_keys;
        let blocks = does_block(wanted);
        let all: [&dyn Parameter; 12] = [
            &moment,
            &plain,
            &request.host,
            &wanted.handler_key,
            &versions,
            &limit,
            &attempts,
            &span,
            &low[3],
            &low[2],
            &low[1],
            &low[0],
        ];
        let keyed: [&dyn Parameter; 4] = [&is_bound, &bound, &blocks, &size];
        let keyless: [&dyn Parameter; 1] = [&blocks];
        let terms = if is_keyless { &keyless[..] } else { &keyed[..] };
        let tenants = tenants.as_ref().map(|tenants| tenants as &dyn Parameter);
        let limits: [&dyn Parameter; 2] = [&fleet, &per_key];
        let limits = limits.into_iter().filter(|_| is_limited);
        let terms = terms.iter().copied();
        let parameters: Vec<_> =
            all.into_iter().chain(terms).chain(limits).chain(tenants).collect();
        let sql = match (&request.tenants, request.serves(""), is_limited) {
            (None, ..) if is_keyless => Sql::lease_keyless,
            (Some(_), false, _) if is_keyless => Sql::keyless_tenants,
            (Some(_), true, _) if is_keyless => Sql::keyless_tenants_and_none,
            (None, _, false) => Sql::lease,
            (Some(_), false, false) => Sql::lease_tenants,
            (Some(_), true, false) => Sql::lease_tenants_and_none,
            (None, _, true) => Sql::lease_limited,
            (Some(_), false, true) => Sql::lease_limited_tenants,
            (Some(_), true, true) => Sql::lease_limited_tenants_and_none,
        };
        let guarded: &[&str] = if is_limited { &[&wanted.handler_key] } else { &[] };
        let rows = self.query_guarded(connection, guarded, sql, &parameters).await;
        let answer = rows.and_then(|rows| Answer::to(token, rows, request.duration));
        let answer = asked.answered(answer)?;
        let (leases, fates) = match is_keyless {
            true => answer.keyless(token, &wanted.handler_key)?,
            false => answer.with_fates(&wanted.handler_key)?,
        };
        self.inner().marks.found(&Claims::of(request, wanted), &fates);
        Ok((Claimed::new(self.clone(), leases), fates))
    }
}

impl PostgresStore {
    /// Runs a claim, after those of others for these handlers, which have limits.
    pub(crate) async fn query_guarded(
        &self,
        connection: &Object,
        handler_keys: &[&str],
        sql: Sql,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        if handler_keys.is_empty() {
            return self.query_on(connection, sql, parameters).await;
        }
        let statements: [(&str, Parameters<'_>); 2] =
            [(self.text(Sql::slot_guard), &[&handler_keys]), (self.text(sql), parameters)];
        let mut answers = self.client(connection).query_all(&statements).await?;
        Ok(answers.pop().unwrap_or_default())
    }
}

/// A limit as the column holds it.
pub(crate) fn units(limit: Option<NonZeroU32>) -> Option<i32> {
    limit.map(|limit| i32::try_from(limit.get()).unwrap_or(i32::MAX))
}

/// The tokens for what holds a lane or a slot: one, or one for each delivery that may be claimed.
fn bound_tokens(wanted: &Wanted, limit: u32) -> Vec<LeaseToken> {
    let count = if wanted.terms.apart { limit } else { 1 };
    (0..count).map(|_| bound_token()).collect()
}

/// Whether one that is dead keeps those behind it waiting.
pub(crate) fn does_block(wanted: &Wanted) -> bool {
    wanted.terms.after_dead == AfterDead::Block
}

/// Versions beyond what the column holds are nobody's.
pub(crate) fn versions(wanted: &Wanted) -> Vec<i32> {
    wanted.versions.iter().filter_map(|version| i32::try_from(*version).ok()).collect()
}

pub(crate) fn attempts(wanted: &Wanted) -> i32 {
    i32::try_from(wanted.max_attempts.get()).unwrap_or(i32::MAX)
}

/// The tenants that the worker serves, each once, unless all.
pub(crate) fn tenants(request: &LeaseRequest) -> Option<Vec<&str>> {
    let served: BTreeSet<_> = request.tenants.as_ref()?.iter().map(String::as_str).collect();
    Some(served.into_iter().collect())
}
