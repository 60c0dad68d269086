use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use inbox::MessageId;
use inbox::postgres::PostgresOptions;
use inbox::store::{Inspect as _, LaneFilter};
use inbox::testing::ledger::{Expectations, stored};
use inbox::testing::postgres::PostgresServer;

use crate::fleet::Fleet;
use crate::strokes::{assert_no_deadlock, connect, strike};

/// The messages of each key, in the order in which they were scheduled.
type Groups = BTreeMap<(String, String), Vec<MessageId>>;

const GROUPS: &str =
    "SELECT contract, coalesce(ordering_key, concurrency_key, ''), id::text FROM inbox.message
    ORDER BY idempotency_key::integer";

/// Lets eight processes work off messages that share something while strokes hit them, and what is left
/// in the end be judged.
async fn survive(what: &'static str, messages: u64, step: u64, expect: fn(Groups) -> Expectations) {
    let begun = Instant::now();
    let directory = tempfile::tempdir().unwrap();
    let server = PostgresServer::start().unwrap();
    let url = server.url("postgres");
    let mut fleet = Fleet::sharing(what, url.clone(), directory.path(), 8, messages);
    let cuts = strike(&mut fleet, &url, step).await;
    fleet.release();
    let store = PostgresOptions::new().connections(1).open(&url).await.unwrap();
    println!("{:?}: the last stroke", begun.elapsed());
    while !fleet.is_over(&store.counts().await.unwrap()) {
        fleet.assert_alive();
        fleet.take_baits();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let bytes = fleet.progress();
    let history = fleet.leave();
    let client = connect(&url).await;
    let mut groups = Groups::new();
    for row in client.query(GROUPS, &[]).await.unwrap() {
        let id: MessageId = row.get::<_, String>(2).parse().unwrap();
        groups.entry((row.get(0), row.get(1))).or_default().push(id);
    }
    let expectations = expect(groups).settled();
    let summary = history.check(&stored(&store).await.unwrap(), &expectations).unwrap();
    println!("{:?}: {summary}, {cuts} connections cut, {bytes} bytes", begun.elapsed());
    assert_eq!(summary.completed as u64, messages);
    // Kills met what was begun: what it held had to be freed by others.
    assert!(cuts > 0 && summary.unfinished > 0, "nobody noticed: {summary}");
    // Nothing is stuck, and nothing is left that could hold up what comes.
    assert_eq!(store.lanes(LaneFilter::default()).await.unwrap(), []);
    let held = client.query_one("SELECT count(*) FROM inbox.held", &[]).await.unwrap();
    assert_eq!(held.get::<_, i64>(0), 0, "deliveries that nobody settled count for a limit");
    println!("{}", errors(directory.path()));
    assert_no_deadlock(&server);
}

/// What the processes got over.
fn errors(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("ledger.errors")).unwrap_or_default()
}

#[tokio::test]
async fn eight_processes_with_kills_stalls_and_cuts_keep_the_order_of_a_thousand_lanes() {
    survive("lanes", 100_000, 900_000, |groups| {
        assert_eq!(groups.len(), 1_000);
        assert_eq!(groups.values().map(Vec::len).max(), Some(20_000));
        groups.into_iter().fold(Expectations::new(), |expectations, ((_, lane), messages)| {
            expectations.in_turn("step", lane, messages)
        })
    })
    .await;
}

#[tokio::test]
async fn eight_processes_with_kills_stalls_and_cuts_never_exceed_a_limit_of_one() {
    survive("limits", 16_000, 150_000, |groups| {
        assert_eq!(groups.len(), 51);
        groups.into_iter().fold(Expectations::new(), |expectations, ((handler, key), messages)| {
            expectations.one_at_a_time(handler, key, messages)
        })
    })
    .await;
}
