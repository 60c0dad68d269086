use std::time::Duration;

use inbox::postgres::tokio_postgres::{Client, Config, NoTls};
use inbox::testing::postgres::PostgresServer;

use crate::fleet::Fleet;

/// Whatever is connected at the moment, this program excepted.
const TERMINATE: &str = "SELECT pg_terminate_backend(pid) FROM (
    SELECT pid FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND application_name = ''
    ORDER BY random() LIMIT 4
) AS unlucky";

/// What hits the processes of a fleet, one after the other.
#[derive(Clone, Copy)]
pub(crate) enum Stroke {
    Kill,
    Terminate,
    Freeze,
}

/// Every process is killed twice and stopped for a while once.
pub(crate) fn strokes() -> Vec<Stroke> {
    let mut strokes: Vec<_> = (0..8).flat_map(|_| [Stroke::Kill, Stroke::Terminate]).collect();
    strokes.extend((0..8).flat_map(|_| [Stroke::Freeze, Stroke::Kill]));
    strokes
}

/// Hits the fleet whenever its ledger has grown by so many bytes: by progress and not by time, so that every
/// stroke meets busy processes. Answers how many connections were cut.
pub(crate) async fn strike(fleet: &mut Fleet, url: &str, step: u64) -> usize {
    let (mut kills, mut cuts) = (0, 0);
    for (stroke, at) in strokes().into_iter().zip(1..) {
        while fleet.progress() < at * step {
            fleet.assert_alive();
            assert!(!fleet.stands_still(), "nothing happens any more");
            fleet.take_baits();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        match stroke {
            Stroke::Kill => {
                fleet.kill(kills);
                kills += 1;
            }
            Stroke::Terminate => cuts += terminate(url).await,
            Stroke::Freeze => fleet.freeze(kills + 3).await,
        }
    }
    cuts
}

/// Cuts a few connections, and answers how many.
pub(crate) async fn terminate(url: &str) -> usize {
    connect(url).await.query(TERMINATE, &[]).await.unwrap().len()
}

/// No two statements waited for each other: every one takes its locks in the same order.
pub(crate) fn assert_no_deadlock(server: &PostgresServer) {
    let log = std::fs::read_to_string(server.directory().join("log")).unwrap();
    let deadlock = log.split_inclusive('\n').skip_while(|line| !line.contains("deadlock detected"));
    let shown: String = deadlock.take(12).collect();
    assert!(shown.is_empty(), "the server's log has:\n{shown}");
}

pub(crate) async fn connect(url: &str) -> Client {
    let mut config: Config = url.parse().unwrap();
    let (client, connection) = config.application_name("test").connect(NoTls).await.unwrap();
    tokio::spawn(async move { connection.await.ok() });
    client
}
