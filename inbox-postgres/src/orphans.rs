use std::num::NonZeroU32;
use std::time::Duration;

use inbox_core::Now;
use inbox_core::policy::OnDead;
use inbox_core::settle::{DeadReason, ErrorReport, Settlement};
use inbox_core::store::{
    DeadDelivery, DeliveryState, LeaseRequest, Runs, Settle, StateStore as _, StoreError, Terms,
    Wanted,
};

use crate::PostgresStore;
use crate::row::column;
use crate::schedule::{damaged, moment};
use crate::sql::Sql;
use crate::value::Span;

/// The lease that deliveries are taken under for the moment in which they are given up.
const LEASE: Duration = Duration::from_mins(1);

/// What is ready under a key that no live host serves.
pub(crate) struct Orphans<'a> {
    pub(crate) store: &'a PostgresStore,
    pub(crate) handler_key: String,
    /// The keys that are served, for the error.
    pub(crate) live: Vec<String>,
    pub(crate) alive_for: Span,
    pub(crate) now: Now,
}

impl Orphans<'_> {
    /// Claims them as a worker does, so that the rule for taking a lane stands once, and settles them as dead.
    /// Of a lane its oldest one alone: it may block the lane.
    pub(crate) async fn give_up(&self, limit: NonZeroU32) -> Result<Vec<DeadDelivery>, StoreError> {
        let Some(terms) = self.terms(limit).await? else { return Ok(Vec::new()) };
        let request = LeaseRequest::new("orphans", LEASE, vec![terms]);
        let claimed = self.store.in_time(self.store.claim_orphans(&request, self.now)).await?;
        // Whoever serves the key by now keeps it: what is dropped here is released.
        if self.terms(limit).await?.is_none() {
            return Ok(Vec::new());
        }
        let error = ErrorReport::orphaned(&self.handler_key, &self.live);
        let (mut settles, mut attempts) = (Vec::new(), Vec::new());
        for lease in claimed.leases() {
            let settlement =
                || Settlement::Dead { reason: DeadReason::Orphaned, error: error.clone() };
            for delivery in &lease.deliveries {
                settles.push(Settle::new(lease.token, delivery, settlement()));
                attempts.push(delivery.attempt.saturating_sub(1));
            }
            for one in &lease.unreadable {
                settles.push(Settle::by_id(lease.token, one.message_id, settlement()));
                attempts.push(0);
            }
        }
        let answers = self.store.settle(settles.clone(), self.now).await?;
        drop(claimed.keep());
        let dead = settles.iter().zip(attempts).zip(answers);
        let dead = dead.filter(|(_, answer)| *answer == Ok(DeliveryState::Dead));
        Ok(dead
            .map(|((settle, attempts), _)| DeadDelivery {
                message_id: settle.message_id,
                handler_key: self.handler_key.clone(),
                attempts,
            })
            .collect())
    }

    /// How they are asked for, unless somebody serves the key by now.
    async fn terms(&self, limit: NonZeroU32) -> Result<Option<Wanted>, StoreError> {
        let most = i64::from(limit.get());
        let rows = self
            .store
            .query(
                Sql::orphan_served,
                &[&moment(self.now), &self.alive_for, &self.handler_key, &most],
            )
            .await?;
        let Some(row) = rows.first() else { return Ok(None) };
        if column(row, 0).map_err(damaged)? {
            return Ok(None);
        }
        let versions: Vec<i32> = column(row, 1).map_err(damaged)?;
        let on_dead = match column(row, 2).map_err(damaged)? {
            Some(false) => OnDead::Skip,
            Some(true) | None => OnDead::Block,
        };
        Ok(Some(Wanted {
            handler_key: self.handler_key.clone(),
            versions: versions.into_iter().filter_map(|one| u32::try_from(one).ok()).collect(),
            limit,
            max_crashes: NonZeroU32::MAX,
            terms: Terms { on_dead, runs: Runs::default(), ..Terms::default() },
        }))
    }
}
