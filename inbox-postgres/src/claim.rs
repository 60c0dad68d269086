use std::collections::BTreeSet;

use deadpool_postgres::Object;
use futures_util::future::join_all;
use inbox_core::Now;
use inbox_core::store::{LeaseRequest, StoreError, Wanted};
use uuid::Uuid;

use crate::PostgresStore;
use crate::claimed::{Asked, Claimed};
use crate::lease;
use crate::marks::{BEGINNING, Claims};
use crate::parameter::Parameter;
use crate::row::column;
use crate::schedule::{damaged, moment};
use crate::sql::Sql;
use crate::value::Span;

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
        // All are waited for: a claim that is dropped on its way would hold what nobody works on.
        let mut failed = None;
        for batch in join_all(claims).await {
            match batch {
                Ok(batch) => claimed.absorb(batch),
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
        for low in mark.starts() {
            if room == 0 {
                break;
            }
            // Noted however it ends: a sweep that takes too long must not be the next thing tried.
            let sweeping = (low == BEGINNING).then(|| marks.sweeping(&claims));
            let found = self.claim_from(connection, request, wanted, room, low, now).await?;
            drop(sweeping);
            for lease in found.leases() {
                let held = lease.deliveries.len() + lease.unreadable.len();
                room = room.saturating_sub(u32::try_from(held).unwrap_or(u32::MAX));
            }
            claimed.absorb(found);
        }
        Ok(claimed)
    }

    async fn claim_from(
        &self,
        connection: &Object,
        request: &LeaseRequest,
        wanted: &Wanted,
        limit: u32,
        low: [i64; 4],
        now: Now,
    ) -> Result<Claimed, StoreError> {
        let asked = Asked::new(self, now);
        let token = asked.token();
        let (moment, token_id) = (moment(now), Uuid::from_u128(token.as_u128()));
        let (versions, limit, attempts) = (versions(wanted), i64::from(limit), attempts(wanted));
        let (span, tenants) = (Span(request.duration), tenants(request));
        let all: [&dyn Parameter; 12] = [
            &moment,
            &token_id,
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
        let tenants = tenants.as_ref().map(|tenants| tenants as &dyn Parameter);
        let parameters: Vec<_> = all.into_iter().chain(tenants).collect();
        let sql = match (&request.tenants, request.serves("")) {
            (None, _) => Sql::lease,
            (Some(_), false) => Sql::lease_tenants,
            (Some(_), true) => Sql::lease_tenants_and_none,
        };
        let rows = self.query_on(connection, sql, &parameters).await;
        let rows = asked.answered(rows)?;
        let found = rows.iter().map(|row| Ok((column(row, 3)?, column(row, 2)?)));
        let found = found.collect::<Result<Vec<_>, String>>().map_err(damaged)?;
        self.inner().marks.found(&Claims::of(request, wanted), found.into_iter());
        Ok(Claimed::new(self.clone(), lease::read(token, false, rows)?))
    }
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
