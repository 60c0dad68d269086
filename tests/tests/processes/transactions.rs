use std::time::Duration;

use inbox::postgres::tokio_postgres::{Client, NoTls};
use inbox::store::{DeliveryCount, Inspect as _};
use inbox::testing::postgres::PostgresServer;

use crate::fleet::Fleet;
use crate::server::open;
use crate::strokes::{assert_no_deadlock, terminate};

const MESSAGES: u64 = 3_000;

/// Bytes of the ledger between two strokes.
const STEP: u64 = 100_000;

/// The application's tables. Now and then one of its statements meets another transaction, and one of the
/// statements that settle does.
const TABLES: &str = "
    CREATE TABLE effect (number bigint NOT NULL);
    CREATE TABLE echoed (number bigint NOT NULL);
    CREATE SEQUENCE met;
    CREATE FUNCTION meet() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
        -- Not rolled back with the transaction.
        turn bigint := nextval('met');
    BEGIN
        IF turn % 97 = 0 THEN RAISE SQLSTATE '40001'; END IF;
        IF turn % 89 = 0 THEN RAISE SQLSTATE '40P01'; END IF;
        IF turn % 331 = 0 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER meet BEFORE INSERT ON effect FOR EACH ROW EXECUTE FUNCTION meet();
    CREATE CONSTRAINT TRIGGER meet_late AFTER INSERT ON echoed DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION meet()";

/// Once the tables of the inbox are there.
const SETTLING: &str = "CREATE TRIGGER meet BEFORE INSERT ON inbox.done
                        FOR EACH ROW EXECUTE FUNCTION meet()";

enum Stroke {
    Kill,
    Terminate,
    Freeze,
    Crash,
}

fn strokes() -> Vec<Stroke> {
    let mut strokes: Vec<_> = (0..4).flat_map(|_| [Stroke::Kill, Stroke::Terminate]).collect();
    strokes.extend([Stroke::Crash, Stroke::Freeze, Stroke::Kill, Stroke::Terminate]);
    strokes
}

#[tokio::test]
async fn four_processes_with_kills_cuts_and_an_outage_do_each_effect_exactly_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = PostgresServer::start().unwrap();
    let url = server.url("postgres");
    connect(&url).await.batch_execute(TABLES).await.unwrap();
    let program = env!("CARGO_BIN_EXE_transactional_worker");
    let mut fleet = Fleet::of(program, url.clone(), directory.path(), 4, MESSAGES);
    let (mut kills, mut cuts) = (0, 0);
    for (stroke, at) in strokes().into_iter().zip(1..) {
        if at == 2 {
            connect(&url).await.batch_execute(SETTLING).await.unwrap();
        }
        while fleet.progress() < at * STEP {
            fleet.assert_alive();
            assert!(!fleet.stands_still());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        match stroke {
            Stroke::Kill => {
                fleet.kill(kills);
                kills += 1;
            }
            Stroke::Terminate => cuts += terminate(&url).await,
            Stroke::Freeze => fleet.freeze(kills).await,
            Stroke::Crash => server.crash().unwrap(),
        }
    }
    fleet.release();
    let store = open(&url).await;
    let counted = async || store.counts().await.unwrap();
    while !fleet.is_over(&of("work", counted().await))
        || !of("echo", counted().await).iter().all(|count| count.state.is_terminal())
    {
        fleet.assert_alive();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    fleet.finish_some(&store).await;
    assert_no_deadlock(&server);
    let client = connect(&url).await;
    // Every hundredth never works, and has no effect; every other has each of its effects once.
    let wrong = "
        WITH completed AS (
            SELECT (message.payload ->> 'number')::bigint AS number
            FROM inbox.delivery JOIN inbox.message ON message.id = delivery.message_id
            WHERE delivery.handler_key = 'work' AND delivery.state = 'completed'
        )
        SELECT (SELECT count(*) FROM completed), (
            SELECT count(*) FROM (
                SELECT number FROM completed EXCEPT ALL SELECT number FROM effect) AS lost
        ), (
            SELECT count(*) FROM (
                SELECT number FROM effect EXCEPT ALL SELECT number FROM completed) AS doubled
        ), (
            SELECT count(*) FROM (
                SELECT number FROM effect EXCEPT ALL SELECT number FROM echoed) AS lost
        ), (
            SELECT count(*) FROM (
                SELECT number FROM echoed EXCEPT ALL SELECT number FROM effect) AS doubled
        ), (SELECT last_value FROM met)";
    let row = client.query_one(wrong, &[]).await.unwrap();
    let numbers: Vec<i64> = (0..6).map(|at| row.get(at)).collect();
    println!("{kills} processes killed, {cuts} connections cut; {numbers:?}");
    assert_eq!(numbers[0].unsigned_abs(), MESSAGES - MESSAGES / 100, "completed: {numbers:?}");
    assert_eq!(numbers[1..5], [0, 0, 0, 0], "lost and doubled effects and echoes");
    assert!(cuts > 0 && numbers[5] > 6_000, "nobody noticed");
}

async fn connect(url: &str) -> Client {
    let mut config: inbox::postgres::tokio_postgres::Config = url.parse().unwrap();
    let (client, connection) = config.application_name("test").connect(NoTls).await.unwrap();
    tokio::spawn(async move { connection.await.ok() });
    client
}

fn of(handler_key: &str, mut counts: Vec<DeliveryCount>) -> Vec<DeliveryCount> {
    counts.retain(|count| count.handler_key.as_deref() == Some(handler_key));
    counts
}
