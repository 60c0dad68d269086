use std::time::Duration;

use inbox::postgres::PostgresOptions;
use inbox::store::Inspect as _;
use inbox::testing::postgres::{PgBouncer, PostgresServer};

use crate::fleet::Fleet;
use crate::strokes::{assert_no_deadlock, terminate};

/// Bytes of the ledger between two strokes. All of them take about four fifths of what it will have.
const STEP: u64 = 250_000;

/// Connections that the pooler has for all of them: fewer than each process alone would like.
const FEW: u32 = 3;

#[tokio::test]
async fn four_processes_behind_a_pooler_with_kills_and_cuts_lose_and_double_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let server = PostgresServer::start().unwrap();
    let direct = server.url("postgres");
    let pooler = PgBouncer::before(&direct.parse().unwrap(), FEW).unwrap();
    let url = pooler.url("postgres", "postgres");
    let mut fleet = Fleet::start(url, directory.path(), 4, 10_000);
    let mut cuts = 0;
    for stroke in 1..=12 {
        while fleet.progress() < stroke * STEP {
            fleet.assert_alive();
            assert!(!fleet.stands_still());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        match stroke % 2 {
            0 => cuts += terminate(&direct).await,
            _ => fleet.kill(usize::try_from(stroke / 2).unwrap()),
        }
    }
    fleet.release();
    let store = PostgresOptions::new().connections(1).open(&direct).await.unwrap();
    while !fleet.is_over(&store.counts().await.unwrap()) {
        fleet.assert_alive();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    fleet.finish(&store).await;
    assert_no_deadlock(&server);
    assert!(cuts > 0, "nobody was connected");
    drop(pooler);
}
