//! What is done besides claims and settlements.

use crate::database::{database, sent};
use crate::plan::{PLANNERS, pages, plan};
use crate::statements::asked;

#[tokio::test]
async fn a_look_for_what_nobody_serves_costs_the_same_however_much_is_ready() {
    let (database, client) = database().await;
    sent(&client, "", 50_000).await;
    let fleet = "INSERT INTO inbox.ready (handler_key, priority, version, message_id)
                 SELECT 'gone', 1, 1, gen_random_uuid() FROM generate_series(1, 20000);
                 INSERT INTO inbox.route (contract, handler_key, registered_at)
                 SELECT key, key, now() FROM unnest(ARRAY['charge', 'refund', 'gone', 'idle']) AS key;
                 INSERT INTO inbox.host (name, started_at, seen_at, serves)
                 VALUES ('host', now(), now(), '{\"charge\": [1], \"refund\": [1]}');
                 INSERT INTO inbox.orphan (handler_key, since, seen_at)
                 SELECT key, now(), now() FROM unnest(ARRAY['charge', 'gone', 'idle']) AS key";
    client.batch_execute(fleet).await.unwrap();
    let looks = [
        asked("orphan_clear", "NULL, '1 hour', '1 day'"),
        asked("orphan_mark", "NULL, '1 hour', '1 day'"),
        asked("orphan_served", "NULL, '1 hour', 'gone', 10"),
    ];
    for statistics in ["SELECT", "ANALYZE"] {
        client.batch_execute(statistics).await.unwrap();
        for (planner, look) in
            PLANNERS.iter().flat_map(|planner| looks.iter().map(move |look| (planner, look)))
        {
            let plan = plan(&database, planner, look, "ANALYZE, BUFFERS, COSTS OFF").await;
            let pages = pages(&plan);
            assert!(pages < 300, "{pages} pages were touched, planned with {planner}:\n{plan}");
        }
    }
}
