//! The plans of the statements that run all the time, whatever PostgreSQL knows of the tables.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

#[path = "../../src/lease/limits.rs"]
#[expect(dead_code, reason = "not every claim has a test of its own here")]
mod limits;
mod order;
#[path = "../../src/lease/tenants.rs"]
mod tenants;

use inbox_postgres::PostgresOptions;
use inbox_postgres::tokio_postgres::Client;
use inbox_testing::postgres::PostgresDatabase;

/// The settings of the store's own connections.
const SESSION: &str = include_str!("../../queries/session.sql");

/// How connections may plan: as the store's own do; the same, but each call anew; and as PostgreSQL
/// does for anyone, once it has turned the statement generic and before.
const PLANNERS: [&str; 4] = [
    SESSION,
    "SET plan_cache_mode = force_custom_plan; SET enable_bitmapscan = off; SET enable_seqscan = off",
    "SET plan_cache_mode = force_generic_plan",
    "SET plan_cache_mode = force_custom_plan",
];

const CLAIM: (&str, &str) = (
    include_str!("../../queries/lease.sql"),
    "NULL, gen_random_uuid(), 'host', 'charge', '{1,2}', 500, 10, '1 min', -1, -1, -1, -1,
     false, ARRAY[gen_random_uuid()], true, 500",
);

/// The claim of handlers that have never seen a key, which is what happens most.
const KEYLESS: (&str, &str) = (
    include_str!("../../queries/lease_keyless.sql"),
    "NULL, gen_random_uuid(), 'host', 'charge', '{1,2}', 500, 10, '1 min', -1, -1, -1, -1, true",
);

macro_rules! hot {
    ($($name:literal: $arguments:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../queries/", $name, ".sql")), $arguments)),*]
    };
}

/// What workers and schedulers run, with arguments.
const HOT: [(&str, &str, &str); 24] = hot! {
    "lease": "NULL, gen_random_uuid(), 'host', 'charge', '{1,2}', 500, 10, '1 min', -1, -1, -1, -1,
              false, ARRAY[gen_random_uuid()], true, 500",
    "lease_keyless": "NULL, gen_random_uuid(), 'host', 'charge', '{1,2}', 500, 10, '1 min', -1, -1, -1,
                      -1, true",
    "lease_suspect": "NULL, gen_random_uuid(), 'host', '{charge}', '{1}', '{10}', '1 min', NULL,
                      '{true}', '{NULL}', '{NULL}'",
    "renew": "NULL, ARRAY[gen_random_uuid()], '1 min'",
    "settle": "NULL, ARRAY[gen_random_uuid()], ARRAY[gen_random_uuid()], '{done}', '{completed}',
               ARRAY[NULL::interval], ARRAY[NULL::text], ARRAY[NULL::text]",
    "settle_done": "NULL, ARRAY[gen_random_uuid()], ARRAY[gen_random_uuid()], '{completed}'",
    "release": "NULL, ARRAY[gen_random_uuid()]",
    "promote": "NULL, 1000",
    "next_due": "NULL",
    "route": "NULL, 1000",
    "reclaim": "NULL, 1000, 'lease-expired', 'gone'",
    "accept_one": "NULL, gen_random_uuid(), '', 'pay', 1, '{}', '{}', 'key', NULL, NULL, NULL, NULL,
                   NULL, 1, NULL, NULL",
    "accepted_before": "ARRAY[gen_random_uuid()], ARRAY[''], ARRAY['pay'], ARRAY['key']",
    "cancel": "NULL, gen_random_uuid(), NULL",
    "reschedule": "NULL, gen_random_uuid(), NULL, NULL, '1 min'",
    "lane_lock": "ARRAY[gen_random_uuid()]",
    "lane_pass": "NULL, ARRAY[gen_random_uuid()]",
    "slot_lock": "ARRAY[gen_random_uuid()]",
    "slot_free": "ARRAY[gen_random_uuid()]",
    "act_left": "gen_random_uuid(), NULL, '{}', true",
    "retry": "gen_random_uuid(), 'charge'",
    "orphan_clear": "NULL, '1 min', '1 hour'",
    "orphan_mark": "NULL, '1 min', '1 day'",
    "orphan_take": "NULL, 'charge', '1 min', 1000, 'orphaned', 'gone'",
};

/// Tables that grow. The others hold a row for each handler or for each batch at work.
const LARGE: [&str; 6] = ["message", "ready", "waiting", "done", "dead", "lane"];

async fn database() -> (PostgresDatabase, Client) {
    let database = PostgresDatabase::create().await.unwrap();
    PostgresOptions::new().migrate_config(database.config().clone()).await.unwrap();
    let client = database.connect().await.unwrap();
    // Nothing is analysed unless a test says so, however long it takes.
    let quiet = "DO $$ DECLARE found regclass; BEGIN
                     FOR found IN SELECT oid FROM pg_class
                         WHERE relnamespace = 'inbox'::regnamespace AND relkind = 'r'
                     LOOP EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = off)', found); END LOOP;
                 END $$";
    client.batch_execute(quiet).await.unwrap();
    // Nothing needs to survive.
    for table in ["message", "ready", "waiting", "done_default", "dead"] {
        client.batch_execute(&format!("ALTER TABLE inbox.{table} SET UNLOGGED")).await.unwrap();
    }
    (database, client)
}

/// The id of the message with the number `n`.
const ID: &str = "('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid";

/// Messages with numbers from 1 to `count`, all done by a handler that nobody asks about.
async fn history(client: &Client, count: u32) {
    let fill = format!(
        "INSERT INTO inbox.message (id, contract, version, payload, accepted_at)
         SELECT {ID}, 'pay', 1, '{{}}', now() FROM generate_series(1, {count}) AS n;
         INSERT INTO inbox.done (message_id, handler_key, outcome, attempts, took, done_at)
         SELECT {ID}, 'book', 'completed', 1, '1 ms', '2026-01-01'
         FROM generate_series(1, {count}) AS n"
    );
    client.batch_execute(&fill).await.unwrap();
}

/// Of the first messages, deliveries of `handler` that are ready, and as many that wait.
async fn open(client: &Client, count: u32, handler: &str) {
    let fill = format!(
        "INSERT INTO inbox.ready (handler_key, priority, version, message_id)
         SELECT '{handler}', 1, 1, {ID} FROM generate_series(1, {count}) AS n;
         INSERT INTO inbox.waiting (message_id, handler_key, version, priority, due_at, reason)
         SELECT {ID}, '{handler}', 1, 1, now() + interval '1 day', 'delay'
         FROM generate_series(1, {count}) AS n"
    );
    client.batch_execute(&fill).await.unwrap();
}

/// A plan that reads too much does so in each of so many runs. The server adds to a run what it reads of its
/// own catalogue, whenever so many tables were made and dropped meanwhile, by whomever, that it forgot all.
const RUNS: usize = 3;

/// The plan of a statement; with `ANALYZE` it is run, and undone. Of several runs, the one that touched the
/// fewest pages.
async fn plan(
    database: &PostgresDatabase,
    planner: &str,
    (statement, arguments): (&str, &str),
    explain: &str,
) -> String {
    let client = database.connect().await.unwrap();
    let prepare = format!("PREPARE statement AS {}", statement.replace(":schema", "inbox"));
    for sql in [planner, &prepare] {
        client.batch_execute(sql).await.unwrap();
    }
    let explain = format!("EXPLAIN ({explain}) EXECUTE statement({arguments})");
    let mut plans = Vec::new();
    for _ in 0..RUNS {
        client.batch_execute("BEGIN").await.unwrap();
        let rows = client.query(&explain, &[]).await.unwrap();
        client.batch_execute("ROLLBACK").await.unwrap();
        plans.push(rows.iter().map(|row| row.get::<_, String>(0) + "\n").collect::<String>());
    }
    plans.into_iter().min_by_key(|plan| touched(plan)).unwrap()
}

/// The pages that a statement touched: the first line counts all. How many of them the statement had to
/// write for others is not its doing: the server's other processes may be late.
fn pages(plan: &str) -> u64 {
    touched(plan).unwrap()
}

/// The same, of a plan that may not count any.
fn touched(plan: &str) -> Option<u64> {
    let buffers = plan.lines().find(|line| line.contains("Buffers: shared"))?;
    let count = |word: &str| -> Option<u64> {
        word.strip_prefix("hit=").or(word.strip_prefix("read="))?.parse().ok()
    };
    Some(buffers.split([' ', ',']).filter_map(count).sum())
}

fn reads_all_of_a_large_table(plan: &str) -> bool {
    let reads_all = |line: &str, table: &&str| {
        line.contains("Seq Scan on ") && line.contains(&format!(" on {table}"))
    };
    plan.lines().any(|line| LARGE.iter().any(|table| reads_all(line, table)))
}

/// The claim walks the index in its order, one step for each row that it takes.
async fn a_claim_holds_its_plan(database: &PostgresDatabase, handler: &str, statistics: &str) {
    for ((claim, arguments), planner) in
        [CLAIM, KEYLESS].into_iter().flat_map(|claim| PLANNERS.map(|planner| (claim, planner)))
    {
        let arguments = arguments.replace("charge", handler);
        let plan =
            plan(database, planner, (claim, &arguments), "ANALYZE, BUFFERS, COSTS OFF").await;
        let said = format!("with {statistics} statistics, planned with {planner}:\n{plan}");
        let ordered = plan.matches("Index Scan using ready_pkey on ready").count();
        assert_eq!(ordered, 4, "one for each priority, {said}");
        assert!(plan.contains("Tid Scan on ready"), "{said}");
        assert!(plan.contains("Index Scan using message_pkey on message"), "{said}");
        assert!(!reads_all_of_a_large_table(&plan) && !plan.contains("Bitmap"), "{said}");
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
    for planner in PLANNERS {
        let promote = (include_str!("../../queries/promote.sql"), "NULL, 1000");
        let plan = plan(&database, planner, promote, "ANALYZE, COSTS OFF").await;
        assert!(plan.contains("Index Scan using waiting_due on waiting"), "{plan}");
        assert!(plan.contains("Index Cond: (due_at <="), "{plan}");
    }
    the_next_due_is_read_from_the_index(&database).await;
}

async fn the_next_due_is_read_from_the_index(database: &PostgresDatabase) {
    for planner in PLANNERS {
        let next_due = (include_str!("../../queries/next_due.sql"), "NULL");
        let plan = plan(database, planner, next_due, "ANALYZE, COSTS OFF").await;
        assert!(plan.contains("Scan using waiting_due on waiting"), "{plan}");
        assert!(!plan.contains("Sort"), "{plan}");
    }
}

#[tokio::test]
async fn what_was_planned_on_empty_tables_reads_no_large_one_from_end_to_end() {
    let (database, client) = database().await;
    client.batch_execute("ANALYZE").await.unwrap();
    for (name, statement, arguments) in HOT {
        let plan = plan(&database, SESSION, (statement, arguments), "COSTS OFF").await;
        assert!(!reads_all_of_a_large_table(&plan), "{name}:\n{plan}");
    }
}

#[tokio::test]
async fn what_is_dead_is_listed_without_a_look_at_what_is_done() {
    let (database, client) = database().await;
    history(&client, 50_000).await;
    let dead =
        "INSERT INTO inbox.dead (message_id, handler_key, version, priority, attempts, reason,
                    error_type, error, dead_at)
                SELECT id, 'charge', 1, 1, 1, 'x', 'x', 'x', now() FROM inbox.message LIMIT 5";
    client.batch_execute(dead).await.unwrap();
    let list = (include_str!("../../queries/list.sql"), "'dead', NULL, NULL, NULL, NULL, 101");
    let planner = format!("{SESSION}; {}", include_str!("../../queries/look.sql"));
    for statistics in ["SELECT", "ANALYZE"] {
        client.batch_execute(statistics).await.unwrap();
        let plan = plan(&database, &planner, list, "ANALYZE, COSTS OFF").await;
        assert!(!plan.contains("done"), "{plan}");
    }
}

#[tokio::test]
async fn a_message_is_shown_without_unpacking_every_lease() {
    let (database, client) = database().await;
    history(&client, 1_000).await;
    open(&client, 1_000, "charge").await;
    let show = (include_str!("../../queries/show_deliveries.sql"), "gen_random_uuid()");
    for planner in [SESSION, "SET plan_cache_mode = force_generic_plan"] {
        let plan = plan(&database, planner, show, "ANALYZE, COSTS OFF").await;
        assert!(!plan.contains("unnest") && !plan.contains("Seq Scan on message"), "{plan}");
    }
}

#[tokio::test]
async fn a_suspect_is_looked_for_among_suspects() {
    let (database, client) = database().await;
    history(&client, 50_000).await;
    open(&client, 50_000, "charge").await;
    let suspect = (
        include_str!("../../queries/lease_suspect.sql"),
        "NULL, gen_random_uuid(), 'host', '{charge}', '{1}', '{10}', '1 min', NULL,
                      '{true}', '{NULL}', '{NULL}'",
    );
    for statistics in ["SELECT", "ANALYZE"] {
        client.batch_execute(statistics).await.unwrap();
        for planner in PLANNERS {
            let plan = plan(&database, planner, suspect, "ANALYZE, COSTS OFF").await;
            assert!(plan.contains("Index Scan using ready_suspect on ready"), "{planner}: {plan}");
            assert!(!plan.contains("ready_pkey"), "{planner}: {plan}");
        }
    }
}

/// Whether what is ready was looked at and left: among what was found, a claim may choose.
fn walks_past(plan: &str) -> bool {
    let mut is_ready = false;
    plan.lines().any(|line| {
        if line.contains(" Scan ") {
            is_ready = line.contains(" on ready");
        }
        is_ready && line.contains("Rows Removed by Filter")
    })
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
    for claim in [CLAIM, KEYLESS] {
        let plan = plan(&database, SESSION, claim, "ANALYZE, BUFFERS, COSTS OFF").await;
        assert!(!walks_past(&plan), "{plan}");
    }
}

/// Deliveries of `charge` and of another handler that `tenant` sent.
async fn sent(client: &Client, tenant: &str, count: u32) {
    let fill = format!(
        "INSERT INTO inbox.ready (handler_key, priority, version, message_id, tenant)
         SELECT handler, 1, 1, gen_random_uuid(), '{tenant}'
         FROM generate_series(1, {count}), unnest(ARRAY['charge', 'refund']) AS handler"
    );
    client.batch_execute(&fill).await.unwrap();
}

/// The claim for two tenants that sent little, and one that sent nothing.
async fn a_claim_for_tenants_holds_its_plan(database: &PostgresDatabase, statistics: &str) {
    let tenants = "'{acme,corp,nobody}'";
    for (claim, arguments) in [
        (tenants::lease_tenants(CLAIM.0), format!("{}, {tenants}", CLAIM.1)),
        (tenants::keyless_tenants(KEYLESS.0), format!("{}, {tenants}", KEYLESS.1)),
    ] {
        for planner in PLANNERS {
            let claim = (&*claim, &*arguments);
            let plan = plan(database, planner, claim, "ANALYZE, BUFFERS, COSTS OFF").await;
            let said = format!("with {statistics} statistics, planned with {planner}:\n{plan}");
            let ordered = plan.matches("Index Scan using ready_tenant on ready").count();
            assert_eq!(ordered, 4, "one for each priority, {said}");
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
        let claim = (&*tenants::lease_tenants(CLAIM.0), &*format!("{}, '{{acme}}'", CLAIM.1));
        let plan = plan(&database, SESSION, claim, "COSTS OFF").await;
        assert_eq!(plan.matches("using ready_tenant on ready").count(), 4, "{plan}");
    }
}

#[tokio::test]
async fn a_claim_for_messages_without_a_tenant_walks_in_their_order() {
    let (database, client) = database().await;
    sent(&client, "", 20_000).await;
    sent(&client, "acme", 20).await;
    let tenants = "'{acme,\"\"}'";
    for (claim, arguments) in [
        (tenants::lease_tenants_and_none(CLAIM.0), format!("{}, {tenants}", CLAIM.1)),
        (tenants::keyless_tenants_and_none(KEYLESS.0), format!("{}, {tenants}", KEYLESS.1)),
    ] {
        let claim = (&*claim, &*arguments);
        let plan = plan(&database, SESSION, claim, "ANALYZE, BUFFERS, COSTS OFF").await;
        assert_eq!(plan.matches("Index Scan using ready_pkey on ready").count(), 4, "{plan}");
        assert!(!walks_past(&plan), "{plan}");
    }
}

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
        (include_str!("../../queries/orphan_clear.sql"), "NULL, '1 hour', '1 day'"),
        (include_str!("../../queries/orphan_mark.sql"), "NULL, '1 hour', '1 day'"),
        (
            include_str!("../../queries/orphan_take.sql"),
            "NULL, 'gone', '1 hour', 10, 'orphaned', 'x'",
        ),
    ];
    for statistics in ["SELECT", "ANALYZE"] {
        client.batch_execute(statistics).await.unwrap();
        for (planner, look) in PLANNERS.iter().flat_map(|planner| looks.map(|look| (planner, look)))
        {
            let plan = plan(&database, planner, look, "ANALYZE, BUFFERS, COSTS OFF").await;
            let pages = pages(&plan);
            assert!(pages < 300, "{pages} pages were touched, planned with {planner}:\n{plan}");
        }
    }
}
