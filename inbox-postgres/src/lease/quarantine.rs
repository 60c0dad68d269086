use deadpool_postgres::Object;
use inbox_core::Now;
use inbox_core::store::{LeaseRequest, StoreError, Wanted};

use super::parameters::{readable, tenants};
use super::steps::Wish;
use crate::PostgresStore;
use crate::lease::claimed::Claimed;
use crate::row::column;
use crate::schedule::damaged;
use crate::sql::Sql;

/// The level of deliveries that are leased alone.
const ALONE: i16 = 5;

impl PostgresStore {
    /// The keys and the levels of quarantined deliveries, if the worker wants any: that of the one that has been
    /// ready for longest first.
    pub(super) async fn quarantined<'a>(
        &self,
        connection: &Object,
        request: &'a LeaseRequest,
    ) -> Result<Vec<(&'a Wanted, i16)>, StoreError> {
        if request.quarantine.is_none() {
            return Ok(Vec::new());
        }
        let (keys, versions): (Vec<_>, Vec<_>) = request.wanted.iter().flat_map(readable).unzip();
        let parameters: crate::store::Parameters<'_> = &[&keys, &versions, &tenants(request)];
        let rows = self.query_on(connection, Sql::quarantined_next, parameters).await?;
        let mut found: Vec<(&Wanted, i16)> = Vec::new();
        for row in &rows {
            let key: &str = column(row, 0).map_err(damaged)?;
            let level = column(row, 1).map_err(damaged)?;
            let wanted = request.wanted.iter().find(|wanted| wanted.handler_key == key);
            // A handler that reads several versions is named for each.
            let is_known = found.iter().any(|(one, its)| one.handler_key == key && *its == level);
            found.extend(wanted.filter(|_| !is_known).map(|wanted| (wanted, level)));
        }
        Ok(found)
    }

    /// Claims a group of them.
    pub(super) async fn claim_quarantined(
        &self,
        connection: &Object,
        request: &LeaseRequest,
        wanted: &Wanted,
        level: i16,
        now: Now,
    ) -> Result<Claimed, StoreError> {
        let size = request.quarantine.map_or(1, std::num::NonZeroU32::get);
        let size = if level == ALONE { 1 } else { size };
        let wish = Wish { request, wanted, limit: size, quarantined: Some(true), has_lanes: true };
        self.claim_past_moved(connection, wish, &[level], now).await
    }
}
