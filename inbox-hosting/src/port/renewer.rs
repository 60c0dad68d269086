use std::sync::Arc;
use std::time::Duration;

use inbox_core::Now;
use inbox_core::store::{LeaseLost, LeaseToken, Renewed, Renewer, StoreFuture};

use super::{Meter, StoreVerb};

/// A renewer with a connection of its own, whose calls count as `renew` too.
pub(super) struct MeteredRenewer {
    pub(super) renewer: Box<dyn Renewer>,
    pub(super) meter: Arc<Meter>,
}

impl Renewer for MeteredRenewer {
    fn renew(
        &mut self,
        tokens: Vec<LeaseToken>,
        duration: Duration,
        now: Now,
    ) -> StoreFuture<'_, Vec<Result<Renewed, LeaseLost>>> {
        let answer = self.renewer.renew(tokens, duration, now);
        Box::pin(self.meter.watch(StoreVerb::Renew, answer, |_| None))
    }
}
