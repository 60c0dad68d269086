use std::collections::VecDeque;

use deadpool_postgres::Object;
use futures_util::future::join;
use futures_util::stream::{FuturesOrdered, StreamExt as _};
use inbox_core::Now;
use inbox_core::store::{LeaseRequest, StoreError, Wanted};

use super::outcome::Lows;
use super::parameters::{Window, is_limited};
use super::steps::Wish;
use crate::PostgresStore;
use crate::lease::claimed::Claimed;
use crate::lease::watermark::{Claims, Start};
use crate::lease::wrong_answer::is_wrong_answer;

/// How often one call goes on after it found what has to wait behind others.
const MOVES: u32 = 20;

/// Of each priority, and of quarantined deliveries.
const ALL_LEVELS: [i16; 6] = [3, 2, 1, 0, 4, 5];

/// How many rows with an ordering key a claim looks at, however few it wants: they may all be of one lane.
const FAR: u32 = 500;

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
            Start::Beginning => (Lows::new(), Lows::new(), true),
            Start::Mark => (mark.lows.clone(), mark.lane_lows.clone(), false),
        });
        let mut starts: VecDeque<_> = starts.collect();
        let (mut moves, mut has_left, mut has_lanes) = (0, false, mark.has_lanes());
        let mut is_crowded = false;
        while let Some((mut lows, mut lane_lows, is_whole)) =
            starts.pop_front().filter(|_| room > 0)
        {
            // Noted however it ends: a sweep that takes too long must not be the next thing tried.
            let sweeping = is_whole.then(|| marks.sweeping(&claims));
            let size = room.max(FAR);
            let window = Window { levels: &levels, lows: &lows, lane_lows: &lane_lows, size };
            let wish = Wish { request, wanted, limit: room, quarantined: Some(false), has_lanes };
            let (found, outcome) = self.claim_from(connection, wish, &window, now).await?;
            marks.found(&claims, &outcome);
            drop(sweeping);
            room = room.saturating_sub(found.count());
            claimed.absorb(found);
            has_left |= outcome.has_left;
            is_crowded |= outcome.moved > 0;
            if outcome.has_lanes && !has_lanes {
                // Again, with all that it takes.
                has_lanes = true;
                starts.push_front((lows, lane_lows, is_whole));
            } else if outcome.moved > 0 && moves < MOVES && claimed.leases().is_empty() {
                // What was moved behind a lane took the room of others. What was found is not kept waiting.
                moves += 1;
                outcome.free.advance(&mut lows);
                outcome.lanes.advance(&mut lane_lows);
                starts.push_front((lows, lane_lows, is_whole));
            } else if outcome.moved > 0 {
                self.ring_here();
            } else if !is_whole
                && is_limited(wanted)
                && (is_crowded || !claimed.leases().is_empty())
            {
                // It is a limit that leaves room: a sweep would not fill it.
                starts.clear();
            } else if is_whole && !has_left {
                // It saw all there is, if it was not enough.
                starts.clear();
            }
        }
        if has_left && room > 0 {
            self.ring_soon();
        }
        // A limit leaves room where there is more: only who found nothing has seen the end.
        let is_short = match is_limited(wanted) {
            true => claimed.leases().is_empty() && !is_crowded,
            false => room > 0,
        };
        marks.ended(&claims, is_short && !has_left);
        Ok(claimed)
    }

    /// Claims whatever is ready under the first key that is wanted, quarantined or not.
    pub(crate) async fn claim_orphans(
        &self,
        request: &LeaseRequest,
        now: Now,
    ) -> Result<Claimed, StoreError> {
        let Some(wanted) = request.wanted.first() else {
            return Ok(Claimed::new(self.clone(), Vec::new()));
        };
        let limit = wanted.limit.get();
        let wish = Wish { request, wanted, limit, quarantined: None, has_lanes: true };
        let mut working = self.connection().await?;
        let claimed = self.claim_past_moved(working.get()?, wish, &ALL_LEVELS, now).await;
        working.done_with(&claimed);
        claimed
    }

    /// Claims from the beginning. What is moved behind others makes room for the next.
    pub(super) async fn claim_past_moved(
        &self,
        connection: &Object,
        wish: Wish<'_>,
        levels: &[i16],
        now: Now,
    ) -> Result<Claimed, StoreError> {
        let lows = Lows::new();
        let window = Window { levels, lows: &lows, lane_lows: &lows, size: wish.limit.max(FAR) };
        loop {
            let (claimed, outcome) = self.claim_from(connection, wish, &window, now).await?;
            if claimed.count() > 0 || outcome.moved == 0 {
                return Ok(claimed);
            }
        }
    }
}
