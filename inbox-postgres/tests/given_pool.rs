//! A store on a pool that is the application's.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod reach;

use std::time::Duration;

use inbox::postgres::deadpool_postgres::{Manager, Pool};
use inbox::postgres::tokio_postgres::NoTls;
use inbox::postgres::{PostgresOptions, PostgresStore};
use inbox::schedule::ScheduleOptions;
use inbox::{Inbox, handler, inbox_contract};
use inbox_testing::postgres::PostgresDatabase;
use reach::{Reach as _, at_last};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay {
    id: u64,
}

#[handler(key = "pay")]
async fn pay(_command: Pay) {}

async fn application() -> (PostgresDatabase, Pool, Inbox<PostgresStore>) {
    let database = PostgresDatabase::create().await.unwrap();
    let manager = Manager::new(reach::config(&database), NoTls);
    let pool = Pool::builder(manager).max_size(1).build().unwrap();
    let options = PostgresOptions::new().reaching().ensure_schema();
    let store = options.open_pool(pool.clone()).await.unwrap();
    (database, pool, Inbox::builder(store).build().await.unwrap())
}

#[tokio::test]
async fn statements_bring_their_settings_and_leave_the_connection_as_it_was() {
    let (database, pool, inbox) = application().await;
    let client = database.connect().await.unwrap();
    client
        .batch_execute(
            "CREATE TABLE seen (setting text);
             CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
                 INSERT INTO public.seen VALUES (TG_TABLE_NAME || ' '
                     || current_setting('plan_cache_mode') || ' '
                     || current_setting('enable_seqscan'));
                 RETURN NEW;
             END $$;
             CREATE TRIGGER see BEFORE INSERT ON inbox.message
                 FOR EACH ROW EXECUTE FUNCTION see();
             CREATE TRIGGER see BEFORE INSERT ON inbox.lease
                 FOR EACH ROW EXECUTE FUNCTION see();
             CREATE TRIGGER see BEFORE INSERT ON inbox.done_default
                 FOR EACH ROW EXECUTE FUNCTION see()",
        )
        .await
        .unwrap();
    let scheduler = inbox.scheduler();
    scheduler.schedule(Pay { id: 1 }, ScheduleOptions::new()).await.unwrap();
    let two = (2..4).map(|id| (Pay { id }, ScheduleOptions::new()));
    scheduler.schedule_all(two).await.unwrap();
    let keyed = (Pay { id: 4 }, ScheduleOptions::new().idempotency_key("4"));
    scheduler.schedule_bulk([keyed, (Pay { id: 5 }, ScheduleOptions::new())]).await.unwrap();
    assert_eq!(inbox.process_pending().await.unwrap().completed, 5);
    let rows = client.query("SELECT DISTINCT setting FROM seen ORDER BY 1", &[]).await.unwrap();
    let seen: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    let expected = ["done_default", "lease", "message"];
    assert_eq!(seen, expected.map(|table| format!("{table} force_generic_plan off")));
    let connection = pool.get().await.unwrap();
    for (setting, is) in [("plan_cache_mode", "auto"), ("enable_seqscan", "on")] {
        let row = connection.query_one(&format!("SHOW {setting}"), &[]).await.unwrap();
        assert_eq!(row.get::<_, String>(0), is);
    }
}

#[tokio::test]
async fn a_statement_that_fails_leaves_no_transaction_open() {
    let (database, pool, inbox) = application().await;
    let client = database.connect().await.unwrap();
    let refuse = "ALTER TABLE inbox.message ADD CONSTRAINT no CHECK (false) NOT VALID";
    client.batch_execute(refuse).await.unwrap();
    let refused = inbox.scheduler().schedule(Pay { id: 4711 }, ScheduleOptions::new()).await;
    let told = format!("{:?}", refused.unwrap_err());
    assert!(told.contains("constraint") && !told.contains("4711"), "no payload is told: {told}");
    client.batch_execute("ALTER TABLE inbox.message DROP CONSTRAINT no").await.unwrap();
    let open = "SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
    let row = pool.get().await.unwrap().query_one(open, &[]).await.unwrap();
    assert_eq!(row.get::<_, i64>(0), 0);
    inbox.scheduler().schedule(Pay { id: 1 }, ScheduleOptions::new()).await.unwrap();
    assert_eq!(inbox.process_pending().await.unwrap().completed, 1);
}

#[tokio::test]
async fn whoever_gets_no_connection_is_told_that_nothing_was_asked() {
    let (_database, pool, _inbox) = application().await;
    let options = PostgresOptions::new().reaching().call_timeout(Duration::from_secs(1));
    let store = at_last(async || options.clone().open_pool(pool.clone()).await).await;
    let holder = pool.get().await.unwrap();
    let error = inbox::store::Inspect::counts(&store).await.unwrap_err();
    assert_eq!(error.kind(), inbox::store::StoreErrorKind::Busy, "{error}");
    assert!(error.to_string().contains("no connection became free"), "{error}");
    drop(holder);
}
