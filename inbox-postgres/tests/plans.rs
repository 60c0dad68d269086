//! The plans of the statements that run all the time, on tables that nobody has analysed.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use inbox_postgres::PostgresOptions;
use inbox_testing::postgres::PostgresDatabase;

/// The plan of a statement as the store's own connections make it.
async fn plan(statement: &str, arguments: &str, analyse: bool) -> String {
    let database = PostgresDatabase::create().await.unwrap();
    let options = PostgresOptions::new().connections(1).ensure_schema();
    options.open_config(database.config().clone()).await.unwrap().close().await;
    let client = database.connect().await.unwrap();
    let settings = "SET plan_cache_mode = force_generic_plan; SET enable_bitmapscan = off;
                    SET jit = off";
    let rows = "
        ALTER TABLE inbox.ready SET (autovacuum_enabled = off);
        ALTER TABLE inbox.waiting SET (autovacuum_enabled = off);
        INSERT INTO inbox.ready (handler_key, priority, version, message_id)
        SELECT 'charge', 1, 1, gen_random_uuid() FROM generate_series(1, 50000);
        INSERT INTO inbox.waiting (message_id, handler_key, version, priority, due_at, reason)
        SELECT gen_random_uuid(), 'charge', 1, 1, now() + interval '1 day', 'delay'
        FROM generate_series(1, 50000)";
    let prepare = format!("PREPARE statement AS {}", statement.replace(":schema", "inbox"));
    let analyse = if analyse { "ANALYZE inbox.ready, inbox.waiting" } else { "SELECT" };
    for sql in [settings, rows, analyse, &prepare] {
        client.batch_execute(sql).await.unwrap();
    }
    let explain = format!("EXPLAIN (COSTS OFF) EXECUTE statement({arguments})");
    let rows = client.query(&explain, &[]).await.unwrap();
    rows.iter().map(|row| row.get::<_, String>(0) + "\n").collect()
}

#[tokio::test]
async fn a_claim_walks_the_index_in_its_order_with_and_without_statistics() {
    let statement = include_str!("../queries/lease.sql");
    let arguments =
        "NULL, gen_random_uuid(), 'host', 'charge', '{1}', 500, 10, '1 min', -1, -1, -1, -1";
    for analyse in [false, true] {
        let plan = plan(statement, arguments, analyse).await;
        let ordered = plan.matches("Index Scan using ready_pkey on ready").count();
        assert_eq!(ordered, 4, "one for each priority:\n{plan}");
        assert!(plan.contains("Tid Scan on ready"), "{plan}");
        assert!(plan.contains("Index Scan using message_pkey on message"), "{plan}");
        let reads_all = plan.contains("Seq Scan on ready") || plan.contains("Bitmap");
        assert!(!reads_all, "{plan}");
    }
}

#[tokio::test]
async fn a_promotion_reads_only_what_is_due() {
    let statement = include_str!("../queries/promote.sql");
    for analyse in [false, true] {
        let plan = plan(statement, "NULL, 1000", analyse).await;
        assert!(plan.contains("Index Scan using waiting_due on waiting"), "{plan}");
        assert!(plan.contains("Index Cond: (due_at <="), "{plan}");
    }
}
