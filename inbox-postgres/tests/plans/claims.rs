//! Claims, before a backlog of whatever size.

use inbox_testing::postgres::PostgresDatabase;

use crate::database::{database, history, open};
use crate::plan::{
    PLANNERS, SESSION, pages, plan, reads_a_large_table_by_pages, reads_all_of_a_large_table,
    walks_past,
};
use crate::statements::{Asked, asked, behind, claim, claim_limited, claiming, win};

/// The claim walks the index in its order, one step for each row that it takes.
async fn a_claim_holds_its_plan(database: &PostgresDatabase, handler: &str, statistics: &str) {
    let claims = [claim(), claiming("claim_beside_lanes", &[]), claim_limited()];
    for (claim, planner) in
        claims.iter().flat_map(|claim| PLANNERS.map(|planner| (claim.of_handler(handler), planner)))
    {
        let plan = plan(database, planner, &claim, "ANALYZE, BUFFERS, COSTS OFF").await;
        let said = format!("with {statistics} statistics, planned with {planner}:\n{plan}");
        let ordered = plan.matches("Index Scan using ready_pkey on ready").count();
        assert_eq!(ordered, 1, "for each level and version, {said}");
        assert!(plan.contains("Tid Scan on ready"), "{said}");
        assert!(plan.contains("Index Scan using message_pkey on message"), "{said}");
        assert!(!reads_all_of_a_large_table(&plan), "{said}");
        assert!(!reads_a_large_table_by_pages(&plan), "{said}");
        // Some twenty for each delivery, and not for each there is.
        let pages = pages(&plan);
        assert!(pages < 30_000, "{pages} pages were touched, {said}");
    }
}

#[tokio::test]
async fn a_claim_keeps_its_plan_on_ten_million_rows_with_no_fresh_and_stale_statistics() {
    let (database, client) = database().await;
    history(&client, 10_000_000).await;
    open(&client, 1_000_000, "charge").await;
    a_claim_holds_its_plan(&database, "charge", "no").await;
    client.batch_execute("ANALYZE inbox.message, inbox.ready, inbox.waiting").await.unwrap();
    a_claim_holds_its_plan(&database, "charge", "fresh").await;
    // All that was known is gone, and a handler has a million that nobody has counted.
    client.batch_execute("DELETE FROM inbox.ready; DELETE FROM inbox.waiting").await.unwrap();
    open(&client, 1_000_000, "refund").await;
    a_claim_holds_its_plan(&database, "refund", "stale").await;
    what_is_due_is_read_from_the_index(&database).await;
    the_next_due_is_read_from_the_index(&database).await;
}

async fn what_is_due_is_read_from_the_index(database: &PostgresDatabase) {
    for planner in *PLANNERS {
        let plan =
            plan(database, planner, &asked("promote", "NULL, 1000"), "ANALYZE, COSTS OFF").await;
        assert!(plan.contains("Index Scan using waiting_due on waiting"), "{plan}");
        assert!(plan.contains("Index Cond: (due_at <="), "{plan}");
    }
}

async fn the_next_due_is_read_from_the_index(database: &PostgresDatabase) {
    for planner in *PLANNERS {
        let plan = plan(database, planner, &asked("next_due", "NULL"), "ANALYZE, COSTS OFF").await;
        assert!(plan.contains("Scan using waiting_due on waiting"), "{plan}");
        assert!(!plan.contains("Sort"), "{plan}");
    }
}

#[tokio::test]
async fn what_nobody_here_reads_costs_a_claim_nothing() {
    let (database, client) = database().await;
    // Another version of the contract, which a newer program is to handle.
    history(&client, 100).await;
    open(&client, 100, "charge").await;
    let unread = "INSERT INTO inbox.ready (handler_key, priority, version, message_id)
                  SELECT 'charge', 1, 3, gen_random_uuid() FROM generate_series(1, 100000)";
    client.batch_execute(unread).await.unwrap();
    for claim in [claim(), win(), behind(), claim_limited()] {
        let plan = plan(&database, &SESSION, &claim, "ANALYZE, BUFFERS, COSTS OFF").await;
        assert!(!walks_past(&plan), "{plan}");
    }
}

/// What has no crashes behind it is not looked at, however much of it there is.
#[tokio::test]
async fn what_is_quarantined_is_looked_for_among_its_own() {
    let (database, client) = database().await;
    history(&client, 50_000).await;
    open(&client, 50_000, "charge").await;
    let quarantined = "UPDATE inbox.ready SET crashes = 2 + seq % 2 WHERE seq % 10000 < 2";
    client.batch_execute(quarantined).await.unwrap();
    for statistics in ["SELECT", "ANALYZE"] {
        client.batch_execute(statistics).await.unwrap();
        for planner in *PLANNERS {
            for look in [asked("quarantined_next", "'{charge}', '{1}', NULL"), claim_of_level_4()] {
                let plan = plan(&database, planner, &look, "ANALYZE, BUFFERS, COSTS OFF").await;
                assert!(plan.contains("Scan using ready_pkey on ready"), "{planner}: {plan}");
                assert!(!walks_past(&plan), "{planner}: {plan}");
                let pages = pages(&plan);
                assert!(pages < 500, "{pages} pages were touched, {planner}: {plan}");
            }
        }
    }
}

/// As quarantined deliveries are claimed: apart from others.
fn claim_of_level_4() -> Asked {
    let lows = ("scan_lows", "'{-1}'");
    let given = [("levels", "'{4}'"), ("scan_levels", "'{4}'"), ("scan_versions", "'{1}'"), lows];
    let given = [&given[..], &[("lane_lows", "'{-1}'"), ("limit", "5")]].concat();
    claiming("claim_beside_lanes", &given)
}
