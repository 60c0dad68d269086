use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use inbox::postgres::{PostgresOptions, PostgresStore};
use inbox::store::Inspect as _;
use inbox::testing::postgres::PostgresServer;

use crate::fleet::Fleet;
use crate::strokes::{assert_no_deadlock, terminate};

/// Bytes of the ledger between two strokes. All of them take about five sixths of what it will have.
const STEP: u64 = 600_000;

/// What hits the fleet, one after the other.
enum Stroke {
    Kill,
    Terminate,
    Freeze,
    Crash,
    Restart,
}

/// Every process is killed three times and stopped for a while once, the server twice.
fn strokes() -> Vec<Stroke> {
    let mut strokes: Vec<_> = (0..8).flat_map(|_| [Stroke::Kill, Stroke::Terminate]).collect();
    strokes.push(Stroke::Crash);
    strokes.extend((0..8).flat_map(|_| [Stroke::Freeze, Stroke::Kill]));
    strokes.push(Stroke::Restart);
    strokes.extend((0..8).flat_map(|_| [Stroke::Kill, Stroke::Terminate]));
    strokes
}

#[tokio::test]
async fn eight_processes_on_one_server_with_kills_cuts_and_outages_lose_and_double_nothing() {
    let begun = Instant::now();
    let directory = tempfile::tempdir().unwrap();
    let mut server = PostgresServer::start().unwrap();
    let url = server.url("postgres");
    let mut fleet = Fleet::start(url.clone(), directory.path(), 8, 100_000);
    // By progress and not by time, so that every stroke meets busy processes.
    let (mut kills, mut cuts) = (0, 0);
    for (stroke, at) in strokes().into_iter().zip(1..) {
        while fleet.progress() < at * STEP {
            fleet.assert_alive();
            assert!(!fleet.stands_still());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        match stroke {
            Stroke::Kill => {
                fleet.kill(kills);
                kills += 1;
            }
            Stroke::Terminate => cuts += terminate(&url).await,
            Stroke::Freeze => fleet.freeze(kills + 3).await,
            Stroke::Crash => server.crash().unwrap(),
            Stroke::Restart => server.restart().unwrap(),
        }
    }
    fleet.release();
    let store = open(&url).await;
    while !fleet.is_over(&store.counts().await.unwrap()) {
        fleet.assert_alive();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let bytes = fleet.progress();
    fleet.finish(&store).await;
    let took = begun.elapsed();
    println!("{took:?}: {kills} processes killed, {cuts} connections cut, {bytes} bytes of ledger");
    let outlasted = outlasted(directory.path());
    println!("what the processes met: {outlasted:#?}");
    assert!(cuts > 0, "nobody was connected");
    assert_no_deadlock(&server);
}

pub(crate) async fn open(url: &str) -> PostgresStore {
    PostgresOptions::new().connections(1).open(url).await.unwrap()
}

/// The errors that the processes got over, and how often.
fn outlasted(directory: &Path) -> BTreeMap<String, usize> {
    let errors = std::fs::read_to_string(directory.join("ledger.errors")).unwrap_or_default();
    let mut counted = BTreeMap::new();
    for error in errors.lines() {
        *counted.entry(error.to_owned()).or_default() += 1;
    }
    counted
}
