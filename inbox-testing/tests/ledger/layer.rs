use std::future::{pending, ready};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use inbox_core::Timestamp;
use inbox_core::dispatch::Layers;
use inbox_core::handler::HandlerService;
use inbox_core::handler::{Handler, HandlerFuture};
use inbox_core::outcome::HandlerError;
use inbox_core::outcome::{Outcome, Outcomes};
use inbox_core::request::Request;
use inbox_testing::ledger::{Entry, Ledger};
use tempfile::tempdir;
use tower::{Layer as _, Service as _, ServiceExt as _, service_fn};

use crate::bench::{Bench, delivery, finish, leased, start};
use crate::story::{at, lease};

#[tokio::test]
async fn a_run_is_noted_before_it_starts_and_after_it_ended() {
    let bench = Bench::new();
    let path = bench.ledger.path().to_owned();
    let service = bench.ledger.layer().layer(service_fn(move |_: Request| {
        let so_far = Ledger::read(&path).unwrap();
        assert_eq!(so_far.entries().len(), 1);
        ready(Ok::<_, HandlerError>(completed()))
    }));
    let (request, _) = leased();
    service.oneshot(request).await.unwrap();
    let lease = lease(5, 30);
    assert_eq!(bench.entries(), [start(1, lease, 1), finish(1, lease, 2, true)]);
}

#[tokio::test]
async fn an_error_is_no_success_and_passes_through() {
    let bench = Bench::new();
    let service =
        bench.ledger.layer().layer(service_fn(|_: Request| ready(Err::<Outcomes, _>("declined"))));
    let (request, _) = leased();
    assert_eq!(service.oneshot(request).await.unwrap_err(), "declined");
    let lease = lease(5, 30);
    assert_eq!(bench.entries(), [start(1, lease, 1), finish(1, lease, 2, false)]);
}

#[tokio::test]
async fn a_renewal_is_seen_at_the_end() {
    let bench = Bench::new();
    let service = bench.ledger.layer().layer(service_fn(|request: Request| {
        request.attempts().next().unwrap().lease().unwrap().renewed(at(60));
        ready(Ok::<_, HandlerError>(completed()))
    }));
    service.oneshot(leased().0).await.unwrap();
    let (before, after) = (lease(5, 30), lease(5, 60));
    assert_eq!(bench.entries(), [start(1, before, 1), finish(1, after, 2, true)]);
}

fn completed() -> Outcomes {
    Outcome::Completed.into()
}

/// Looks into the ledger while it is dropped.
struct SeesEnd<'a>(&'a Path, &'a AtomicUsize);

impl Drop for SeesEnd<'_> {
    fn drop(&mut self) {
        let entries = Ledger::read(self.0).unwrap().entries().len();
        self.1.store(entries, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn a_run_that_is_dropped_has_stopped_before_its_end_is_noted() {
    let bench = Bench::new();
    let seen = AtomicUsize::new(0);
    let mut service = bench.ledger.layer().layer(service_fn(|_: Request| {
        let handler = SeesEnd(bench.ledger.path(), &seen);
        async move {
            pending::<()>().await;
            drop(handler);
            Ok::<_, HandlerError>(completed())
        }
    }));
    let (request, held) = leased();
    let mut run = Box::pin(service.ready().await.unwrap().call(request));
    let polled = std::future::poll_fn(|context| Poll::Ready(run.as_mut().poll(context))).await;
    assert!(polled.is_pending());
    held.renewed(at(40));
    assert_eq!(bench.entries(), [start(1, lease(5, 30), 1)]);
    drop(run);
    assert_eq!(bench.entries(), [start(1, lease(5, 30), 1), finish(1, lease(5, 40), 2, false)]);
    assert_eq!(seen.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_run_that_is_never_polled_ends_when_it_is_dropped() {
    let bench = Bench::new();
    let mut service =
        bench.ledger.layer().layer(service_fn(|_: Request| pending::<Result<Outcomes, ()>>()));
    drop(service.ready().await.unwrap().call(leased().0));
    let lease = lease(5, 30);
    assert_eq!(bench.entries(), [start(1, lease, 1), finish(1, lease, 2, false)]);
}

#[tokio::test]
async fn each_delivery_of_a_batch_is_noted() {
    let bench = Bench::new();
    let service = bench
        .ledger
        .layer()
        .layer(service_fn(|_: Request| ready(Ok::<_, HandlerError>(completed()))));
    let rest = vec![delivery(2), delivery(3)];
    let request = Request::unstored_batch(delivery(1), rest);
    service.oneshot(request).await.unwrap();
    // Without a lease: it was run by hand.
    let starts = [1, 2, 3].map(|message| start(message, None, 1));
    let ends = [1, 2, 3].map(|message| finish(message, None, 2, true));
    assert_eq!(bench.entries(), [starts, ends].concat());
}

/// A handler that panics where it is called, or that does nothing.
struct Named(bool);

impl Handler for Named {
    fn call(self: Arc<Self>, _: Request) -> HandlerFuture {
        assert!(!self.0, "it panics");
        Box::pin(ready(Ok(completed())))
    }
}

#[tokio::test]
async fn the_layer_fits_around_the_handlers_of_an_inbox() {
    let bench = Bench::new();
    let mut layers = Layers::default();
    layers.push(bench.ledger.layer());
    let handler = layers.around(HandlerService::new(Arc::new(Named(false))));
    handler.oneshot(leased().0).await.unwrap();
    assert_eq!(bench.entries().len(), 2);
}

#[tokio::test]
async fn a_panic_is_no_success() {
    let bench = Bench::new();
    let mut layers = Layers::default();
    layers.push(bench.ledger.layer());
    let handler = layers.around(HandlerService::new(Arc::new(Named(true))));
    let run = tokio::spawn(handler.oneshot(leased().0));
    assert!(run.await.unwrap_err().is_panic());
    let lease = lease(5, 30);
    assert_eq!(bench.entries(), [start(1, lease, 1), finish(1, lease, 2, false)]);
}

#[test]
fn without_a_clock_the_time_is_this_machines() {
    let directory = tempdir().unwrap();
    let ledger = Ledger::open(directory.path().join("ledger")).unwrap();
    let mut service =
        ledger.layer().layer(service_fn(|_: Request| ready(Ok::<_, ()>(completed()))));
    let before = Timestamp::now();
    drop(service.call(leased().0));
    let after = Timestamp::now();
    let history = Ledger::read(ledger.path()).unwrap();
    let [Entry::Started { at: start, .. }, Entry::Finished { at: end, .. }] = history.entries()
    else {
        panic!("{history:?}");
    };
    assert!(before <= *start && start <= end && *end <= after);
}
