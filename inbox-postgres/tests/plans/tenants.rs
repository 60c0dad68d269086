//! Claims for some tenants, among what the others sent.

use inbox_testing::postgres::PostgresDatabase;

use crate::database::{database, sent};
use crate::plan::{PLANNERS, SESSION, pages, plan, walks_past};
use crate::statements::{Asked, claiming};

/// Claims for these tenants, none of which is empty.
fn of_tenants(tenants: &str) -> [Asked; 3] {
    for_tenants(["claim_tenants", "claim_beside_lanes_tenants", "claim_limited_tenants"], tenants)
}

/// Claims for tenants of which one may be the empty one.
fn of_tenants_and_none(tenants: &str) -> [Asked; 3] {
    let names = [
        "claim_tenants_and_none",
        "claim_beside_lanes_tenants_and_none",
        "claim_limited_tenants_and_none",
    ];
    for_tenants(names, tenants)
}

fn for_tenants(names: [&str; 3], tenants: &str) -> [Asked; 3] {
    let tenants = format!("'{tenants}'");
    names.map(|name| claiming(name, &[("tenants", &tenants), ("per_key", "1")]))
}

/// The claim for two tenants that sent little, and one that sent nothing.
async fn a_claim_for_tenants_holds_its_plan(database: &PostgresDatabase, statistics: &str) {
    for claim in of_tenants("{acme,corp,nobody}") {
        for planner in *PLANNERS {
            let plan = plan(database, planner, &claim, "ANALYZE, BUFFERS, COSTS OFF").await;
            let said = format!("with {statistics} statistics, planned with {planner}:\n{plan}");
            let ordered = plan.matches("Index Scan using ready_tenant on ready").count();
            assert_eq!(ordered, 1, "for each level, version and tenant, {said}");
            assert!(!walks_past(&plan), "{said}");
            let pages = pages(&plan);
            assert!(pages < 3_000, "{pages} pages were touched, {said}");
        }
    }
}

#[tokio::test]
async fn what_other_tenants_sent_costs_a_claim_for_some_nothing() {
    let (database, client) = database().await;
    for (tenant, count) in [("acme", 40), ("bolt", 100_000), ("corp", 40), ("", 10_000)] {
        sent(&client, tenant, count).await;
    }
    a_claim_for_tenants_holds_its_plan(&database, "no").await;
    client.batch_execute("ANALYZE inbox.ready").await.unwrap();
    a_claim_for_tenants_holds_its_plan(&database, "fresh").await;
    // Of a day when there was one tenant, and nothing was urgent.
    let one = "DELETE FROM inbox.ready WHERE tenant <> 'bolt'; ANALYZE inbox.ready";
    client.batch_execute(one).await.unwrap();
    sent(&client, "acme", 40).await;
    client.batch_execute("UPDATE inbox.ready SET priority = 3 WHERE seq % 2 = 0").await.unwrap();
    a_claim_for_tenants_holds_its_plan(&database, "stale").await;
}

#[tokio::test]
async fn a_claim_for_tenants_that_was_planned_on_an_empty_table_is_by_their_index() {
    let (database, client) = database().await;
    for statistics in ["SELECT", "ANALYZE inbox.ready"] {
        client.batch_execute(statistics).await.unwrap();
        for claim in of_tenants("{acme}") {
            let plan = plan(&database, &SESSION, &claim, "COSTS OFF").await;
            assert_eq!(plan.matches("using ready_tenant on ready").count(), 1, "{plan}");
        }
    }
}

#[tokio::test]
async fn a_claim_for_messages_without_a_tenant_walks_in_their_order() {
    let (database, client) = database().await;
    sent(&client, "", 20_000).await;
    sent(&client, "acme", 20).await;
    for claim in of_tenants_and_none("{acme,\"\"}") {
        let plan = plan(&database, &SESSION, &claim, "ANALYZE, BUFFERS, COSTS OFF").await;
        assert_eq!(plan.matches("Index Scan using ready_pkey on ready").count(), 1, "{plan}");
        assert!(!walks_past(&plan), "{plan}");
    }
}
