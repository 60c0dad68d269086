use inbox_core::store::{StoreError, StoreFuture};
use tokio::time::Instant;
use tracing::{Instrument as _, Span, field};

use super::meter::Meter;
use super::{Port, StoreVerb};

/// One call of a store, in a span of its own.
pub(super) struct Call<'a> {
    meter: &'a Meter,
    verb: StoreVerb,
    span: Span,
    begun: Instant,
    has_ended: bool,
}

impl<'a> Call<'a> {
    pub(super) fn begin(meter: &'a Meter, verb: StoreVerb) -> Self {
        meter.of(verb).begun();
        let span = tracing::debug_span!(
            target: "inbox::store",
            "store call",
            verb = verb.as_str(),
            deliveries = field::Empty,
            elapsed = field::Empty,
        );
        Self { meter, verb, span, begun: Instant::now(), has_ended: false }
    }

    pub(super) async fn run<T>(&self, answer: impl Future<Output = T>) -> T {
        answer.instrument(self.span.clone()).await
    }

    /// The store has answered: how many deliveries it moved, where that is known.
    pub(super) fn end(mut self, answer: Result<Option<u64>, &StoreError>) {
        self.has_ended = true;
        match answer {
            Ok(None) => {}
            Ok(Some(deliveries)) => {
                self.meter.of(self.verb).moved(deliveries);
                self.span.record("deliveries", deliveries);
            }
            Err(error) => {
                self.meter.of(self.verb).failed();
                let (verb, elapsed) = (self.verb.as_str(), self.begun.elapsed());
                // Not louder: who called knows whether it matters, and says so.
                tracing::debug!(
                    target: "inbox::store", parent: &self.span, verb, %error, ?elapsed,
                    "store call failed"
                );
            }
        }
    }
}

/// However it ends, also by being dropped.
impl Drop for Call<'_> {
    fn drop(&mut self) {
        let (counter, elapsed) = (self.meter.of(self.verb), self.begun.elapsed());
        counter.took(elapsed);
        self.span.record("elapsed", field::debug(elapsed));
        if !self.has_ended {
            counter.dropped();
            let verb = self.verb.as_str();
            tracing::debug!(
                target: "inbox::store", parent: &self.span, verb, ?elapsed, "store call dropped"
            );
        }
    }
}

impl Meter {
    /// Counts a call from its first poll on: a future that nobody polls is none.
    pub(super) async fn watch<T>(
        &self,
        verb: StoreVerb,
        answer: StoreFuture<'_, T>,
        deliveries: impl FnOnce(&T) -> Option<u64>,
    ) -> Result<T, StoreError> {
        let call = Call::begin(self, verb);
        let answer = call.run(answer).await;
        call.end(answer.as_ref().map(deliveries));
        answer
    }
}

impl<S: Send + Sync> Port<S> {
    pub(super) fn call<'a, T: Send + 'a>(
        &'a self,
        verb: StoreVerb,
        answer: StoreFuture<'a, T>,
        deliveries: impl FnOnce(&T) -> Option<u64> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        Box::pin(self.meter().watch(verb, answer, deliveries))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use inbox_core::store::StoreErrorKind;
    use tokio::time::{sleep, timeout};

    use super::*;
    use crate::VerbCounts;

    const SECOND: Duration = Duration::from_secs(1);

    fn after(time: Duration, answer: Result<u64, StoreErrorKind>) -> StoreFuture<'static, u64> {
        Box::pin(async move {
            sleep(time).await;
            answer.map_err(|kind| StoreError::new(kind, "the test says no"))
        })
    }

    fn counts(calls: u64, errors: u64, dropped: u64, deliveries: u64, seconds: u32) -> VerbCounts {
        VerbCounts { calls, errors, dropped, deliveries, time: SECOND * seconds }
    }

    #[tokio::test(start_paused = true)]
    async fn answers_errors_and_dropped_calls_are_counted_with_their_time() {
        let (meter, verb) = (Meter::default(), StoreVerb::Settle);
        let some = |moved: &u64| Some(*moved);
        assert_eq!(meter.watch(verb, after(SECOND, Ok(3)), some).await.unwrap(), 3);
        assert_eq!(meter.read().of(verb), counts(1, 0, 0, 3, 1));
        meter.watch(verb, after(SECOND, Err(StoreErrorKind::Busy)), some).await.unwrap_err();
        assert_eq!(meter.read().of(verb), counts(2, 1, 0, 3, 2));
        let late = meter.watch(verb, after(SECOND * 9, Ok(7)), some);
        timeout(SECOND * 2, late).await.unwrap_err();
        assert_eq!(meter.read().of(verb), counts(3, 1, 1, 3, 4));
        let others = meter.read().verbs.into_iter().filter(|(one, _)| *one != verb);
        assert!(others.into_iter().all(|(_, counts)| counts == VerbCounts::default()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_moves_no_deliveries_counts_none() {
        let meter = Meter::default();
        meter.watch(StoreVerb::Renew, after(SECOND, Ok(5)), |_| None).await.unwrap();
        assert_eq!(meter.read().of(StoreVerb::Renew), counts(1, 0, 0, 0, 1));
    }

    #[tokio::test]
    async fn a_future_that_nobody_polls_is_no_call() {
        let meter = Meter::default();
        drop(meter.watch(StoreVerb::Listen, after(SECOND, Ok(0)), |_| None));
        assert_eq!(meter.read().of(StoreVerb::Listen), VerbCounts::default());
    }

    #[tokio::test]
    async fn a_call_that_panics_is_counted_as_dropped() {
        let meter = std::sync::Arc::new(Meter::default());
        let inner = std::sync::Arc::clone(&meter);
        let panics = tokio::spawn(async move {
            let answer: StoreFuture<'_, u64> = Box::pin(async { panic!("as the test wants it") });
            inner.watch(StoreVerb::Lease, answer, |_| None).await
        });
        assert!(panics.await.unwrap_err().is_panic());
        let counts = meter.read().of(StoreVerb::Lease);
        assert_eq!((counts.calls, counts.errors, counts.dropped), (1, 0, 1));
    }
}
