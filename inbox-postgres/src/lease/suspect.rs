use deadpool_postgres::Object;
use inbox_core::Now;
use inbox_core::store::{LeaseRequest, StoreError, Wanted};
use uuid::Uuid;

use crate::PostgresStore;
use crate::bound::bound_token;
use crate::error::is_unique_violation;
use crate::lease::answer::Answer;
use crate::lease::claim::{attempts, does_block, tenants, units, versions};
use crate::lease::claimed::{Asked, Claimed};
use crate::schedule::moment;
use crate::sql::Sql;
use crate::value::Span;

impl PostgresStore {
    /// Claims one suspect, if there is one and this host holds none.
    pub(crate) async fn claim_suspect(
        &self,
        connection: &Object,
        request: &LeaseRequest,
        now: Now,
    ) -> Result<Claimed, StoreError> {
        // It may be the head of a lane.
        let token = bound_token();
        let asked = Asked::new(self, vec![token], now);
        let pairs = || {
            request.wanted.iter().flat_map(|wanted| {
                versions(wanted).into_iter().map(move |version| (wanted, version))
            })
        };
        let keys: Vec<_> = pairs().map(|(wanted, _)| wanted.handler_key.as_str()).collect();
        let versions: Vec<_> = pairs().map(|(_, version)| version).collect();
        let max_attempts: Vec<_> = pairs().map(|(wanted, _)| attempts(wanted)).collect();
        let blocks: Vec<_> = pairs().map(|(wanted, _)| does_block(wanted)).collect();
        let fleet: Vec<_> = pairs().map(|(wanted, _)| units(wanted.terms.fleet)).collect();
        let per_key: Vec<_> = pairs().map(|(wanted, _)| units(wanted.terms.per_key)).collect();
        let limited = |wanted: &&Wanted| wanted.terms.fleet.or(wanted.terms.per_key).is_some();
        let limited = request.wanted.iter().filter(limited);
        let guarded: Vec<_> = limited.map(|wanted| wanted.handler_key.as_str()).collect();
        let rows = self
            .query_guarded(
                connection,
                &guarded,
                Sql::lease_suspect,
                &[
                    &moment(now),
                    &Uuid::from_u128(token.as_u128()),
                    &request.host,
                    &keys,
                    &versions,
                    &max_attempts,
                    &Span(request.duration),
                    &tenants(request),
                    &blocks,
                    &fleet,
                    &per_key,
                ],
            )
            .await;
        let answer = rows.and_then(|rows| Answer::to(token, rows, request.duration));
        match asked.answered(answer) {
            Ok(answer) => {
                let lease = answer.suspect(token)?;
                Ok(Claimed::new(self.clone(), lease.into_iter().collect()))
            }
            // Another call of this host was faster.
            Err(error) if is_unique_violation(&error) => Ok(Claimed::new(self.clone(), Vec::new())),
            Err(error) => Err(error),
        }
    }
}
