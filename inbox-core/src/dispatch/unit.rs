use std::any::TypeId;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tower::ServiceExt as _;

use super::{HandlerService, Request};
use crate::handler::{Handler, HandlerError, HandlerFuture};
use crate::store::StoreError;

/// How often one attempt is begun again whose transaction was in another's way.
const TRIES: u32 = 5;

/// The pause before the second try; it doubles.
const PAUSE: Duration = Duration::from_millis(20);

/// A store's transaction around each run of a handler that takes one as `&mut T`: what the handler
/// writes in it and what becomes of its deliveries is written together, or not at all.
pub trait Unit: Send + Sync + 'static {
    /// The type `T` that handlers take.
    fn lends(&self) -> TypeId;

    /// Begins a transaction, and [lends](Request::lend) it. What is dropped in the middle is rolled
    /// back.
    ///
    /// # Errors
    /// When there is none to be had.
    fn begin<'a>(&'a self, request: &'a Request) -> UnitFuture<'a, Result<(), StoreError>>;

    /// Ends it. If the run succeeded, its deliveries are settled within the transaction, under the
    /// request's [leases](super::HeldLeases), and it is committed; without leases it is only
    /// committed. If the run failed, it is rolled back.
    ///
    /// Where the future is dropped, a commit that has begun goes on to its end.
    fn end<'a>(
        &'a self,
        request: &'a Request,
        run: Result<(), HandlerError>,
    ) -> UnitFuture<'a, Ended>;
}

/// What a unit will answer.
pub type UnitFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What became of a transaction.
#[derive(Debug)]
pub enum Ended {
    /// It is committed, and with it the deliveries are completed.
    Settled,
    /// It is committed; there was no delivery to settle.
    Committed,
    /// It is rolled back.
    Failed(HandlerError),
    /// It is rolled back for a reason that may pass, such as a deadlock: the run begins again.
    Again(HandlerError),
}

/// Left on a request whose deliveries were settled by a unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct SettledInUnit;

/// A handler with its timeout, in a unit: neither the wait for the beginning nor the commit is cut
/// off by the timeout.
pub(super) struct InUnit {
    unit: Arc<dyn Unit>,
    inner: HandlerService,
}

impl InUnit {
    pub(super) fn service(unit: Arc<dyn Unit>, inner: HandlerService) -> HandlerService {
        HandlerService::new(Arc::new(Self { unit, inner }))
    }

    async fn run_once(&self, request: &Request) -> Ended {
        match self.unit.begin(request).await {
            Ok(()) => {
                let run = self.inner.clone().oneshot(request.clone()).await;
                self.unit.end(request, run).await
            }
            Err(error) if error.is_transient() => Ended::Again(HandlerError::Layer(error.into())),
            Err(error) => Ended::Failed(HandlerError::Layer(error.into())),
        }
    }
}

impl Handler for InUnit {
    fn call(self: Arc<Self>, request: Request) -> HandlerFuture {
        Box::pin(async move {
            let mut tried = 1;
            loop {
                let error = match self.run_once(&request).await {
                    Ended::Settled => {
                        request.extend(SettledInUnit);
                        return Ok(());
                    }
                    Ended::Committed => return Ok(()),
                    Ended::Failed(error) => return Err(error),
                    Ended::Again(error) => error,
                };
                if tried >= TRIES || request.cancellation().is_cancelled() {
                    return Err(error);
                }
                tracing::debug!(%error, tried, "the transaction was rolled back: it begins again");
                tokio::time::sleep(PAUSE * 2_u32.pow(tried - 1)).await;
                tried += 1;
            }
        })
    }
}

impl fmt::Debug for InUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InUnit").finish_non_exhaustive()
    }
}
