//! The renewer depends on nothing that handlers can hold up.

use std::time::Duration;

use inbox::postgres::PostgresOptions;
use inbox::store::{LeaseLost, LeaseStore as _, LeaseToken, Now, Renewer, StoreErrorKind};
use inbox_testing::postgres::PostgresDatabase;

use crate::kit::{HOLD, cut_all, held, is_later, open, pool, routed, until_blocked};
use crate::reach::{self, Reach as _};

async fn renews(renewer: &mut Box<dyn Renewer>, token: LeaseToken) {
    let asked = vec![LeaseToken::new(), token];
    let answers = renewer.renew(asked.clone(), HOLD, Now::OfStore).await.unwrap();
    assert_eq!(answers[0], Err(LeaseLost(asked[0])));
    assert!(is_later(answers[1].as_ref().unwrap().expires_at));
}

#[tokio::test]
async fn leases_are_renewed_while_the_pool_is_exhausted() {
    let database = PostgresDatabase::create().await.unwrap();
    let pool = pool(&database);
    let given = reach::options().reaching().ensure_schema().open_pool(pool.clone()).await.unwrap();
    routed(&given).await;
    let token = held(&given).await;
    let holder = pool.get().await.unwrap();
    renews(&mut given.renewer().unwrap(), token).await;
    drop(holder);

    let own = open(&database, reach::options()).await;
    let mut client = database.connect().await.unwrap();
    let transaction = client.transaction().await.unwrap();
    transaction.batch_execute("LOCK TABLE inbox.message").await.unwrap();
    let holder = tokio::spawn({
        let own = own.clone();
        async move { inbox::store::Inspect::show(&own, inbox::message::MessageId::new()).await }
    });
    until_blocked(&database, 1).await;
    renews(&mut own.renewer().unwrap(), token).await;
    transaction.rollback().await.unwrap();
    holder.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_renewer_whose_connection_was_cut_makes_another() {
    let database = PostgresDatabase::create().await.unwrap();
    let store = open(&database, PostgresOptions::new()).await;
    let token = held(&store).await;
    let client = database.connect().await.unwrap();
    let mut renewer = store.renewer().unwrap();
    for _ in 0..20 {
        renews(&mut renewer, token).await;
        assert!(cut_all(&client).await >= 1);
    }
    renews(&mut renewer, token).await;
}

#[tokio::test]
async fn a_renewal_that_is_given_up_is_cancelled_and_the_next_one_passes() {
    let database = PostgresDatabase::create().await.unwrap();
    let options = match reach::is_pooled() {
        // There the server stops by itself, after this time.
        true => reach::options().call_timeout(Duration::from_secs(10)),
        false => reach::options(),
    };
    let store = open(&database, options).await;
    let token = held(&store).await;
    let mut renewer = store.renewer().unwrap();
    renews(&mut renewer, token).await;
    let mut client = database.connect().await.unwrap();
    let transaction = client.transaction().await.unwrap();
    transaction.batch_execute("LOCK TABLE inbox.lease").await.unwrap();
    // A third of this is all the time there is.
    let soon = Duration::from_millis(300);
    let given_up = renewer.renew(vec![token], soon, Now::OfStore).await.unwrap_err();
    assert_eq!(given_up.kind(), StoreErrorKind::TimedOut, "{given_up}");
    until_blocked(&database, 0).await;
    transaction.rollback().await.unwrap();
    renews(&mut renewer, token).await;
}

#[tokio::test]
async fn a_renewer_runs_apart_from_a_runtime_that_is_held_up() {
    let database = PostgresDatabase::create().await.unwrap();
    let store = open(&database, PostgresOptions::new()).await;
    let token = held(&store).await;
    let mut renewer = store.renewer().unwrap();
    let apart = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for _ in 0..3 {
                renews(&mut renewer, token).await;
            }
        });
    });
    // The one thread of this runtime does nothing else meanwhile.
    apart.join().unwrap();
}

#[tokio::test]
async fn a_closed_store_renews_nothing() {
    let database = PostgresDatabase::create().await.unwrap();
    let store = open(&database, PostgresOptions::new()).await;
    let token = held(&store).await;
    let mut renewer = store.renewer().unwrap();
    renews(&mut renewer, token).await;
    store.close().await;
    let refused = renewer.renew(vec![token], HOLD, Now::OfStore).await.unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::Closed, "{refused}");
}
