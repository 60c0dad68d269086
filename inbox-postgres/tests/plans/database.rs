//! Databases with a past, of which nothing is analysed unless a test says so.

use inbox_postgres::PostgresOptions;
use inbox_postgres::tokio_postgres::Client;
use inbox_testing::postgres::PostgresDatabase;

/// The id of the message with the number `n`.
pub(crate) const ID: &str = "('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid";

pub(crate) async fn database() -> (PostgresDatabase, Client) {
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
    for table in ["message", "ready", "held", "waiting", "done_default", "dead", "attempt"] {
        client.batch_execute(&format!("ALTER TABLE inbox.{table} SET UNLOGGED")).await.unwrap();
    }
    (database, client)
}

/// Messages with numbers from 1 to `count`, all done by a handler that nobody asks about.
pub(crate) async fn history(client: &Client, count: u32) {
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
pub(crate) async fn open(client: &Client, count: u32, handler: &str) {
    let fill = format!(
        "INSERT INTO inbox.ready (handler_key, priority, version, message_id)
         SELECT '{handler}', 1, 1, {ID} FROM generate_series(1, {count}) AS n;
         INSERT INTO inbox.waiting (message_id, handler_key, version, priority, due_at, reason)
         SELECT {ID}, '{handler}', 1, 1, now() + interval '1 day', 'delay'
         FROM generate_series(1, {count}) AS n"
    );
    client.batch_execute(&fill).await.unwrap();
}

/// Deliveries of `charge` and of another handler that `tenant` sent.
pub(crate) async fn sent(client: &Client, tenant: &str, count: u32) {
    let fill = format!(
        "INSERT INTO inbox.ready (handler_key, priority, version, message_id, tenant)
         SELECT handler, 1, 1, gen_random_uuid(), '{tenant}'
         FROM generate_series(1, {count}), unnest(ARRAY['charge', 'refund']) AS handler"
    );
    client.batch_execute(&fill).await.unwrap();
}
