//! What people ask for.

use crate::database::{database, history, open};
use crate::plan::{LISTS, SESSION, plan, reads_all_of_a_large_table};
use crate::statements::asked;

#[tokio::test]
async fn what_is_dead_is_listed_without_a_look_at_what_is_done() {
    let (database, client) = database().await;
    history(&client, 50_000).await;
    let dead =
        "INSERT INTO inbox.dead (message_id, handler_key, version, priority, attempts, reason,
                    error_type, error, dead_at, position)
                SELECT id, 'charge', 1, 1, 1, 'x', 'x', 'x', now(), 1 FROM inbox.message LIMIT 5";
    client.batch_execute(dead).await.unwrap();
    let list = asked("list", "'dead', NULL, NULL, NULL, NULL, 101");
    let planner = [SESSION.as_str(), &LISTS].concat();
    for statistics in ["SELECT", "ANALYZE"] {
        client.batch_execute(statistics).await.unwrap();
        let plan = plan(&database, &planner, &list, "ANALYZE, COSTS OFF").await;
        assert!(!plan.contains("done"), "{plan}");
    }
}

#[tokio::test]
async fn a_message_is_shown_without_reading_a_large_table_from_end_to_end() {
    let (database, client) = database().await;
    history(&client, 1_000).await;
    open(&client, 1_000, "charge").await;
    let show = asked("show_deliveries", "gen_random_uuid()");
    for planner in [SESSION.as_str(), "SET plan_cache_mode = force_generic_plan"] {
        let plan = plan(&database, planner, &show, "ANALYZE, COSTS OFF").await;
        assert!(!reads_all_of_a_large_table(&plan), "{plan}");
    }
}
