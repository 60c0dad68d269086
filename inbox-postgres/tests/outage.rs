//! What goes wrong because the server or a connection goes away is transient, and passes.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod reach;

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use inbox_core::message::MessageId;
use inbox_core::store::{Inspect as _, StoreErrorKind};
use inbox_postgres::tokio_postgres::Config;
use inbox_postgres::{PostgresOptions, PostgresStore};
use inbox_testing::postgres::{PostgresDatabase, PostgresServer};

/// With one connection, so that a broken one cannot hide behind others.
async fn open(url: &str) -> PostgresStore {
    reach::options().connections(1).ensure_schema().open(url).await.unwrap()
}

/// Stands between a client and the server, and breaks the connection as soon as the client, having been
/// let in, says anything.
fn break_once_open(port: u16) -> u16 {
    answering(move |mut client| {
        let mut server = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let mut answers = (server.try_clone().unwrap(), client.try_clone().unwrap());
        std::thread::spawn(move || std::io::copy(&mut answers.0, &mut answers.1));
        let mut said = [0; 4096];
        let hello = client.read(&mut said).unwrap();
        server.write_all(&said[..hello]).unwrap();
        client.read_exact(&mut said[..1]).unwrap();
        client.shutdown(Shutdown::Both).unwrap();
    })
}

/// Says what a server says that is stopped while it lets a client in.
fn stop_while_opening() -> u16 {
    answering(|mut client| {
        let _ = client.read(&mut [0; 4096]).unwrap();
        let fields = b"SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0";
        let length = u32::try_from(fields.len() + 4).unwrap().to_be_bytes();
        client.write_all(&[b"E", length.as_slice(), fields].concat()).unwrap();
    })
}

/// The port of a server that does this with its first client.
fn answering(with: impl FnOnce(TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || with(listener.accept().unwrap().0));
    port
}

async fn is_transient(port: u16) {
    let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
    let error = PostgresOptions::new().open(&url).await.unwrap_err();
    // Nothing was asked of the database.
    assert_eq!(error.kind(), StoreErrorKind::Busy, "{error:?}");
}

#[tokio::test]
async fn a_connection_that_breaks_before_it_is_of_use_is_transient() {
    let server = PostgresServer::start().unwrap();
    let config: Config = server.url("postgres").parse().unwrap();
    is_transient(break_once_open(config.get_ports()[0])).await;
    is_transient(stop_while_opening()).await;
}

#[tokio::test]
async fn a_call_that_is_cut_off_is_transient_and_the_next_one_passes() {
    let database = PostgresDatabase::create().await.unwrap();
    let store = open(&reach::url(&database)).await;
    let mut client = database.connect().await.unwrap();
    // In no transaction: there, it would always see the same.
    let administrator = database.connect().await.unwrap();
    for _ in 0..20 {
        let transaction = client.transaction().await.unwrap();
        transaction.batch_execute("LOCK TABLE inbox.message").await.unwrap();
        let call = tokio::spawn({
            let store = store.clone();
            async move { store.show(MessageId::new()).await }
        });
        let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while administrator.query_one(cut, &[]).await.unwrap().get::<_, i64>(0) == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let error = call.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::TimedOut, "{error:?}");
        transaction.rollback().await.unwrap();
        assert_eq!(store.show(MessageId::new()).await.unwrap(), None);
    }
}

#[tokio::test]
async fn a_store_outlives_its_server() {
    let mut server = PostgresServer::start().unwrap();
    let store = open(&server.url("postgres")).await;
    server.restart().unwrap();
    passes_again(&store).await;
    server.crash().unwrap();
    passes_again(&store).await;
    drop(server);
    let error = store.counts().await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
}

/// That its connection broke may be noticed only when it is used, but only once.
async fn passes_again(store: &PostgresStore) {
    if let Err(error) = store.counts().await {
        assert!(error.is_transient(), "{error:?}");
        store.counts().await.unwrap();
    }
}
