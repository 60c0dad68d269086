//! What other processes tell is heard, and a connection that hears nothing any more is noticed.

use inbox::postgres::tokio_postgres::Config;
use inbox::postgres::{PostgresOptions, PostgresStore};
use inbox::store::{
    BellListener, Inspect as _, LeaseStore as _, Listening, Now, StoreError, StoreErrorKind,
};
use inbox_testing::fault::{Fault, FaultProxy};
use inbox_testing::postgres::PostgresDatabase;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::ear::Ear;
use crate::kit::{HOLD, heard, held, open, pool, schedule, until};
use crate::reach::{self, PATIENCE, Reach as _};

/// Begins to listen, and answers when the bell has been rung for that.
async fn listening(store: &PostgresStore) -> (JoinHandle<StoreError>, BellListener) {
    let mut bell = store.bell().unwrap().listener();
    let listening: Listening = store.listen().unwrap().await.unwrap();
    // Something may have been missed.
    heard(&mut bell).await;
    (tokio::spawn(listening), bell)
}

async fn ended(listening: JoinHandle<StoreError>) -> StoreError {
    timeout(PATIENCE, listening).await.unwrap().unwrap()
}

#[tokio::test]
async fn what_another_process_accepts_is_heard() {
    let database = PostgresDatabase::create().await.unwrap();
    let (here, there) = (
        open(&database, PostgresOptions::new()).await,
        open(&database, PostgresOptions::new()).await,
    );
    let (listening, mut bell) = listening(&here).await;
    for id in 0..3 {
        schedule(&there, id).await;
        heard(&mut bell).await;
    }
    here.close().await;
    assert_eq!(ended(listening).await.kind(), StoreErrorKind::Closed);
}

#[tokio::test]
async fn another_schema_is_another_matter() {
    let database = PostgresDatabase::create().await.unwrap();
    let here = open(&database, PostgresOptions::new()).await;
    let options = PostgresOptions::new().schema("my \"inbox\"");
    let (there, beside) = (open(&database, options.clone()).await, open(&database, options).await);
    let mut ear = Ear::new(&database).await;
    let (_listening, mut bell) = listening(&there).await;
    schedule(&beside, 1).await;
    heard(&mut bell).await;
    beside.close().await;
    assert_eq!(ear.count().await, 0);
    schedule(&here, 1).await;
    assert_eq!(ear.hear().await, "");
}

#[tokio::test]
async fn a_listener_that_is_cut_says_so_and_the_next_one_hears_again() {
    let database = PostgresDatabase::create().await.unwrap();
    let (here, there) = (
        open(&database, PostgresOptions::new()).await,
        open(&database, PostgresOptions::new()).await,
    );
    let client = database.connect().await.unwrap();
    for id in 0..3 {
        let (listening, mut bell) = listening(&here).await;
        schedule(&there, id).await;
        heard(&mut bell).await;
        // The one before may still be about to end.
        let cut = "SELECT count(pg_terminate_backend(pid)) >= 1 FROM pg_stat_activity
                   WHERE datname = current_database() AND application_name = 'inbox listener'";
        until(&client, cut).await;
        let error = ended(listening).await;
        assert!(error.is_transient(), "{error}");
    }
}

#[tokio::test]
async fn a_listener_whose_network_swallows_everything_is_noticed() {
    let database = PostgresDatabase::create().await.unwrap();
    let there = open(&database, PostgresOptions::new()).await;
    let proxy = FaultProxy::before(database.config()).await.unwrap();
    let port = |config: &Config| format!(":{}/", config.get_ports()[0]);
    let address = database.url().replace(&port(database.config()), &port(proxy.config()));
    let options = PostgresOptions::new().reaching().listen_at(address);
    let here = options.open_config(reach::config(&database)).await.unwrap();
    let (silent, _bell) = listening(&here).await;
    proxy.set(Fault::BlackHole);
    let error = ended(silent).await;
    assert_eq!(error.kind(), StoreErrorKind::TimedOut, "{error}");
    proxy.heal();
    let (_listening, mut bell) = listening(&here).await;
    schedule(&there, 1).await;
    heard(&mut bell).await;
}

#[tokio::test]
async fn neither_a_listener_nor_a_renewer_takes_a_connection_from_the_pool() {
    let database = PostgresDatabase::create().await.unwrap();
    let there = open(&database, PostgresOptions::new()).await;
    let pool = pool(&database);
    let options = PostgresOptions::new().reaching().listen_at(database.url());
    let here = options.open_pool(pool.clone()).await.unwrap();
    let (_listening, mut bell) = listening(&here).await;
    let (token, mut renewer) = (held(&there).await, here.renewer().unwrap());
    heard(&mut bell).await;
    renewer.renew(vec![token], HOLD, Now::OfStore).await.unwrap()[0].as_ref().unwrap();
    here.counts().await.unwrap();
    assert_eq!(pool.status().size, 1);
    // Nor do they need one.
    let holder = pool.get().await.unwrap();
    renewer.renew(vec![token], HOLD, Now::OfStore).await.unwrap()[0].as_ref().unwrap();
    schedule(&there, 2).await;
    heard(&mut bell).await;
    drop(holder);
}

#[tokio::test]
async fn an_address_to_listen_at_that_is_none_is_refused_when_the_store_is_opened() {
    let database = PostgresDatabase::create().await.unwrap();
    let options = PostgresOptions::new().ensure_schema().listen_at("postgres://me:secret@db?x=y");
    assert!(!format!("{options:?}").contains("secret"));
    let error = options.open_config(database.config().clone()).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::CannotOpen, "{error}");
}
