use std::time::Duration;

use inbox_core::Now;
use inbox_core::store::{
    LeaseLost, LeaseToken, Renewed, Renewer, StoreError, StoreErrorKind, StoreFuture,
};

use super::apart::Apart;
use crate::PostgresStore;
use crate::lease::renew::renew;
use crate::time_limit::answer_within;

type Answer = Result<Vec<Result<Renewed, LeaseLost>>, StoreError>;

/// Renews on a connection beside the pool, which may be exhausted when leases are about to expire.
pub(crate) struct RenewerApart {
    store: PostgresStore,
    /// Gone while a call is under way, so that one which is dropped takes it along: its answer may be
    /// on its way still.
    connection: Option<Apart>,
}

impl RenewerApart {
    pub(crate) fn new(store: PostgresStore) -> Self {
        Self { store, connection: None }
    }

    async fn ask(&mut self, tokens: &[LeaseToken], duration: Duration, now: Now) -> Answer {
        if let Some(kept) = self.connection.take().filter(|kept| !kept.is_closed()) {
            match self.ask_on(kept, tokens, duration, now).await {
                // It broke since it was last used: to renew once more does no harm.
                Err(error) if error.kind() == StoreErrorKind::TimedOut => {}
                answer => return answer,
            }
        }
        let new = Apart::connect(&self.store).await?;
        self.ask_on(new, tokens, duration, now).await
    }

    async fn ask_on(
        &mut self,
        mut connection: Apart,
        tokens: &[LeaseToken],
        duration: Duration,
        now: Now,
    ) -> Answer {
        let answer = renew(&self.store, connection.ask()?, tokens, duration, now).await;
        connection.answered();
        if !answer.as_ref().is_err_and(|error| error.kind() == StoreErrorKind::TimedOut) {
            self.connection = Some(connection);
        }
        answer
    }
}

impl Renewer for RenewerApart {
    fn renew(
        &mut self,
        tokens: Vec<LeaseToken>,
        duration: Duration,
        now: Now,
    ) -> StoreFuture<'_, Vec<Result<Renewed, LeaseLost>>> {
        // There must be time for another try before the leases expire.
        let limit = self.store.call_timeout().min(duration / 3);
        Box::pin(async move { answer_within(limit, self.ask(&tokens, duration, now)).await })
    }
}
