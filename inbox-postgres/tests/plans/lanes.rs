//! Lanes that are deep, and lanes that are many.

use inbox_postgres::tokio_postgres::Client;
use inbox_testing::postgres::PostgresDatabase;

use crate::database::{ID, database, history};
use crate::plan::{PLANNERS, pages, plan, reads_all_of_a_large_table};
use crate::statements::{Asked, asked, behind, claiming, win};

const MANY: u32 = 100_000;

/// Takes a run of lanes that were won.
fn take() -> Asked {
    claiming("lane_take", &[("lease", "'00000000-0000-4000-8000-000000000001'")])
}

/// Deliveries that are ready, each in the lane that `lane` says.
async fn ready(client: &Client, lane: &str) {
    let fill = format!(
        "INSERT INTO inbox.ready (handler_key, priority, version, message_id, ordering_key)
         SELECT 'charge', 1, 1, {ID}, {lane} FROM generate_series(2 * {MANY} + 1, 3 * {MANY}) AS n"
    );
    client.batch_execute(&fill).await.unwrap();
}

/// As many lanes whose heads are done, and behind the seventh as many that wait.
async fn lanes(client: &Client) {
    let fill = format!(
        "INSERT INTO inbox.lane (handler_key, tenant, ordering_key, message_id, head_key, since)
         SELECT 'charge', '', 'lane-' || n, {ID}, 'charge', now() FROM generate_series(1, {MANY}) AS n;
         INSERT INTO inbox.done (message_id, handler_key, outcome, attempts, took, done_at)
         SELECT {ID}, 'charge', 'completed', 1, '1 ms', '2026-01-01'
         FROM generate_series(1, {MANY}) AS n;
         INSERT INTO inbox.waiting (message_id, handler_key, version, priority, due_at, reason, first_key,
                                    tenant, ordering_key, position)
         SELECT {ID}, 'charge', 1, 1, now(), 'lane', 'charge', '', 'lane-7', n
         FROM generate_series({MANY} + 1, 2 * {MANY}) AS n"
    );
    client.batch_execute(&fill).await.unwrap();
}

/// Databases with all that: one of which nothing is known, one of which all is, and one that was empty when
/// someone looked; with the ways in which each may be planned.
async fn databases(lane: &str) -> Vec<(PostgresDatabase, &'static str, &'static [&'static str])> {
    let mut databases = Vec::new();
    for known in ["nothing", "all", "too little"] {
        let (database, client) = database().await;
        if known == "too little" {
            client.batch_execute("ANALYZE").await.unwrap();
        }
        history(&client, 2 * MANY).await;
        lanes(&client).await;
        ready(&client, lane).await;
        if known == "all" {
            client.batch_execute("ANALYZE").await.unwrap();
        }
        let planners = if known == "too little" { &PLANNERS[..1] } else { &PLANNERS[..] };
        databases.push((database, known, planners));
    }
    databases
}

/// The statement is planned by these indexes and touches no more pages, whatever is known.
async fn holds_its_plan(
    (database, known, planners): &(PostgresDatabase, &str, &[&str]),
    statement: &Asked,
    most_pages: u64,
    uses: &[&str],
) {
    for planner in *planners {
        let plan = plan(database, planner, statement, "ANALYZE, BUFFERS, COSTS OFF").await;
        let said = format!("where {known} is known, planned with {planner}:\n{plan}");
        assert!(!reads_all_of_a_large_table(&plan), "{said}");
        for index in uses {
            assert!(plan.contains(&format!("using {index} on")), "by {index}, {said}");
        }
        let pages = pages(&plan);
        assert!(pages < most_pages, "{pages} pages were touched, {said}");
    }
}

/// The lease of `take` wins these lanes.
async fn won(client: &Client, lanes: &str) {
    let win = format!(
        "INSERT INTO inbox.lane (handler_key, tenant, ordering_key, lease_id, since)
         SELECT 'charge', '', {lanes}, '00000000-0000-4000-8000-000000000001', now()
         FROM generate_series(200001, 200100) AS n
         ON CONFLICT DO NOTHING"
    );
    client.batch_execute(&win).await.unwrap();
}

#[tokio::test]
async fn a_claim_before_a_deep_lane_looks_at_no_more_of_it_than_it_moves() {
    for database in databases("'deep'").await {
        holds_its_plan(&database, &win(), 30_000, &["ready_pkey", "lane_pkey"]).await;
        let client = database.0.connect().await.unwrap();
        won(&client, "'deep'").await;
        let uses = ["ready_lane", "waiting_lane"];
        holds_its_plan(&database, &take(), 30_000, &uses).await;
        holds_its_plan(&database, &behind(), 30_000, &["ready_pkey", "lane_pkey"]).await;
    }
}

#[tokio::test]
async fn a_claim_of_many_lanes_looks_into_each_that_it_takes() {
    for database in databases("'many-' || n").await {
        holds_its_plan(&database, &win(), 40_000, &["ready_pkey", "lane_pkey"]).await;
        let client = database.0.connect().await.unwrap();
        won(&client, "'many-' || n").await;
        let uses = ["ready_lane", "waiting_lane"];
        holds_its_plan(&database, &take(), 40_000, &uses).await;
    }
}

#[tokio::test]
async fn a_lane_is_handed_on_by_index_however_deep_it_is_and_however_many_there_are() {
    // One with many behind it, one that ends, and one with many that are ready and not behind it yet; as
    // the store's own connections plan.
    for (database, known, planners) in databases("'lane-9'").await {
        let database = (database, known, &planners[..planners.len().min(2)]);
        for lane in [7, 8, 9] {
            let lane = format!("NULL, '{{charge}}', '{{\"\"}}', '{{lane-{lane}}}'");
            let uses = ["lane_pkey", "waiting_lane", "ready_lane"];
            holds_its_plan(&database, &asked("lane_end", &lane), 200, &uses).await;
        }
    }
}
