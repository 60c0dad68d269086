//! The request fits tower's layers, and a layer can lend a handler something it cannot share.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test says what it expects by failing"
)]

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use inbox::dispatch::BoxError;
use inbox::extract::{Extract, Missing, Rejection, Setup};
use inbox::{HandlerError, Lend, Outcomes, Registry, Request, State, handler, inbox_contract};
use inbox_tests::deliver::{delivery, request};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tower::{Layer, Service, ServiceBuilder, ServiceExt as _};

#[inbox_contract(name = "book", version = 1)]
#[derive(Serialize, Deserialize)]
struct Book {
    amount: i64,
}

type Entries = Arc<Mutex<Vec<String>>>;

/// Stands for a database transaction: owned, not cloneable, undone unless committed.
struct Transaction {
    entries: Entries,
    written: Vec<String>,
}

impl Lend for Transaction {}

impl Transaction {
    fn commit(mut self) {
        self.entries.lock().unwrap().append(&mut self.written);
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if !self.written.is_empty() {
            self.entries.lock().unwrap().push("rolled back".to_owned());
        }
    }
}

/// Begins before the handler, commits after its success.
#[derive(Clone)]
struct TransactionLayer(Entries);

#[derive(Clone)]
struct Transactional<S> {
    inner: S,
    entries: Entries,
}

impl<S> Layer<S> for TransactionLayer {
    type Service = Transactional<S>;

    fn layer(&self, inner: S) -> Transactional<S> {
        Transactional { inner, entries: Arc::clone(&self.0) }
    }
}

impl<S> Service<Request> for Transactional<S>
where
    S: Service<Request, Response = Outcomes, Error = HandlerError>,
    S::Future: Send + 'static,
{
    type Response = Outcomes;
    type Error = HandlerError;
    type Future = Pin<Box<dyn Future<Output = Result<Outcomes, HandlerError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), HandlerError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        request.lend(Transaction { entries: Arc::clone(&self.entries), written: Vec::new() });
        let run = self.inner.call(request.clone());
        Box::pin(async move {
            let outcomes = run.await?;
            request.reclaim::<Transaction>().expect("the handler gave it back").commit();
            Ok(outcomes)
        })
    }
}

#[handler(key = "book")]
async fn book(command: Book, transaction: &mut Transaction) -> Result<(), String> {
    transaction.written.push(format!("booked {}", command.amount));
    if command.amount < 0 { Err("negative".to_owned()) } else { Ok(()) }
}

#[handler(key = "book-forever")]
async fn book_forever(
    _command: Book,
    transaction: &mut Transaction,
    State(begun): State<Arc<Notify>>,
) {
    transaction.written.push("booked forever".to_owned());
    begun.notify_one();
    pending::<()>().await;
}

fn registry(begun: &Arc<Notify>) -> Registry {
    Registry::builder().lends::<Transaction>().state(Arc::clone(begun)).build().unwrap()
}

fn request_for(key: &str, amount: i64) -> Request {
    request(delivery(&Book { amount }, key))
}

#[tokio::test]
async fn what_a_layer_lends_is_written_by_the_handler_and_committed_by_the_layer() {
    let (entries, registry) = (Entries::default(), registry(&Arc::default()));
    let service = registry.handler("book").unwrap().service();
    let service = TransactionLayer(Arc::clone(&entries)).layer(service);
    service.oneshot(request_for("book", 5)).await.unwrap();
    assert_eq!(*entries.lock().unwrap(), ["booked 5"]);
}

#[tokio::test]
async fn a_failing_handler_leaves_the_transaction_uncommitted() {
    let (entries, registry) = (Entries::default(), registry(&Arc::default()));
    let service = registry.handler("book").unwrap().service();
    let service = TransactionLayer(Arc::clone(&entries)).layer(service);
    service.oneshot(request_for("book", -5)).await.unwrap_err();
    assert_eq!(*entries.lock().unwrap(), ["rolled back"]);
}

#[tokio::test]
async fn a_handler_dropped_in_the_middle_takes_the_transaction_with_it() {
    let (entries, begun) = (Entries::default(), Arc::<Notify>::default());
    let registry = registry(&begun);
    let service = registry.handler("book-forever").unwrap().service();
    let service = TransactionLayer(Arc::clone(&entries)).layer(service);
    let run = tokio::spawn(service.oneshot(request_for("book-forever", 1)));
    begun.notified().await;
    run.abort();
    assert!(run.await.unwrap_err().is_cancelled());
    assert_eq!(*entries.lock().unwrap(), ["rolled back"]);
}

#[tokio::test]
async fn a_handler_that_no_layer_serves_says_so() {
    let registry = registry(&Arc::default());
    let service = registry.handler("book").unwrap().service();
    let error = service.oneshot(request_for("book", 5)).await.unwrap_err();
    let HandlerError::Rejected(error) = error else { panic!("{error:?}") };
    assert_eq!(error.to_string(), "no layer lent a `layers::Transaction` to this run");
}

#[tokio::test(start_paused = true)]
async fn towers_own_layers_wrap_a_handler() {
    let (entries, registry) = (Entries::default(), registry(&Arc::default()));
    let service = ServiceBuilder::new()
        .concurrency_limit(1)
        .timeout(Duration::from_secs(30))
        .layer(TransactionLayer(Arc::clone(&entries)))
        .service(registry.handler("book-forever").unwrap().service());
    let error: BoxError = service.oneshot(request_for("book-forever", 1)).await.unwrap_err();
    assert!(error.is::<tower::timeout::error::Elapsed>());
    assert_eq!(*entries.lock().unwrap(), ["rolled back"]);
}

#[tokio::test]
async fn the_handlers_own_error_comes_back_out_of_towers_layers() {
    let (entries, registry) = (Entries::default(), registry(&Arc::default()));
    let service = ServiceBuilder::new()
        .timeout(Duration::from_secs(30))
        .layer(TransactionLayer(entries))
        .service(registry.handler("book").unwrap().service());
    let error: BoxError = service.oneshot(request_for("book", -5)).await.unwrap_err();
    let HandlerError::Failed(failure) = HandlerError::from_layer(error) else { panic!() };
    assert_eq!(failure.to_string(), "negative");
}

#[test]
fn a_request_is_owned_cloneable_and_shareable() {
    fn fits<T: Clone + Send + Sync + 'static>() {}
    fits::<Request>();
    fits::<inbox::dispatch::HandlerService>();
}

#[test]
fn what_is_shared_between_tasks_is_send_and_sync() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Registry>();
    shared::<inbox::Context>();
    shared::<inbox::RegistryError>();
    shared::<HandlerError>();
}

#[test]
fn clones_of_a_request_share_what_was_lent_and_only_one_gets_it() {
    let (entries, request) = (Entries::default(), request_for("book", 1));
    let clone = request.retried();
    for written in ["first", "second"] {
        let written = vec![written.to_owned()];
        request.lend(Transaction { entries: Arc::clone(&entries), written });
    }
    // The first was replaced, and so undone.
    assert_eq!(*entries.lock().unwrap(), ["rolled back"]);
    assert_eq!(clone.reclaim::<Transaction>().unwrap().written, ["second"]);
    assert!(request.reclaim::<Transaction>().is_none());
}

/// What a layer found out about the caller.
#[derive(Clone, PartialEq, Debug)]
struct Caller(&'static str);

impl Extract for Caller {
    type Prepared = ();

    fn prepare(_: &Setup<'_>) -> Result<(), Missing> {
        Ok(())
    }

    fn extract((): &(), request: &Request) -> Result<Self, Rejection> {
        Ok(request.extension().ok_or("no layer knows the caller")?)
    }
}

#[handler(key = "book-for")]
async fn book_for(_command: Book, transaction: &mut Transaction, caller: Caller) {
    transaction.written.push(format!("booked for {}", caller.0));
}

#[tokio::test]
async fn what_a_layer_leaves_can_be_extracted() {
    let (entries, registry) = (Entries::default(), registry(&Arc::default()));
    let service = registry.handler("book-for").unwrap().service();
    let service = TransactionLayer(Arc::clone(&entries)).layer(service);
    let request = request_for("book-for", 1);
    request.extend(Caller("nobody"));
    request.extend(Caller("alice"));
    assert_eq!(request.retried().extension(), Some(Caller("alice")));
    service.oneshot(request).await.unwrap();
    assert_eq!(*entries.lock().unwrap(), ["booked for alice"]);
}

/// A value that looks at the request it lies on while it is cloned.
struct Curious(Request);

impl Clone for Curious {
    fn clone(&self) -> Self {
        assert_eq!(self.0.extension(), Some(Caller("alice")));
        Self(self.0.clone())
    }
}

#[test]
fn a_value_may_use_the_request_while_it_is_cloned_out_of_it() {
    let (request, other) = (request_for("book", 1), request_for("book", 2));
    request.extend(Caller("alice"));
    other.extend(Curious(request.clone()));
    request.extend(Curious(request.clone()));
    assert!(other.extension::<Curious>().is_some());
    assert!(request.extension::<Curious>().is_some());
    // It holds the request it lies on: without something else in its place neither is dropped.
    request.extend(Curious(request_for("book", 3)));
}

#[tokio::test]
async fn a_refused_argument_leaves_the_loan_with_the_layer() {
    let registry = registry(&Arc::default());
    let request = request_for("book-for", 1);
    request.lend(Transaction { entries: Entries::default(), written: Vec::new() });
    let service = registry.handler("book-for").unwrap().service();
    let error = service.oneshot(request.clone()).await.unwrap_err();
    assert!(matches!(error, HandlerError::Rejected(_)));
    assert!(request.reclaim::<Transaction>().is_some());
}
