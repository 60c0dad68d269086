//! A writer who brings functions, operators and tables of its own does not make the owner use them.

use inbox::postgres::tokio_postgres::Client;
use inbox_testing::postgres::PostgresDatabase;

use crate::kit::{connect, database};

/// Everything that the functions use without naming its schema, made anew by an attacker. Whoever calls
/// one of these leaves a line.
const TRAPS: &str = "
    CREATE TABLE trap.caught (what text, who text);
    GRANT ALL ON trap.caught TO PUBLIC;
    CREATE FUNCTION trap.note(what text) RETURNS void LANGUAGE sql AS
        $$ INSERT INTO trap.caught VALUES (what, current_user) $$;
    CREATE FUNCTION trap.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql AS
        $$ BEGIN PERFORM trap.note('clock'); RETURN pg_catalog.clock_timestamp(); END $$;
    CREATE FUNCTION trap.array_position(text[], text) RETURNS integer LANGUAGE plpgsql AS
        $$ BEGIN PERFORM trap.note('position'); RETURN 2; END $$;
    CREATE FUNCTION trap.jsonb_typeof(jsonb) RETURNS text LANGUAGE plpgsql AS
        $$ BEGIN PERFORM trap.note('typeof'); RETURN 'object'; END $$;
    CREATE FUNCTION trap.same(uuid, uuid) RETURNS boolean LANGUAGE plpgsql AS
        $$ BEGIN PERFORM trap.note('equals'); RETURN true; END $$;
    CREATE OPERATOR trap.= (LEFTARG = uuid, RIGHTARG = uuid, FUNCTION = trap.same);
    CREATE FUNCTION trap.unequal(text, text) RETURNS boolean LANGUAGE plpgsql AS
        $$ BEGIN PERFORM trap.note('differs'); RETURN false; END $$;
    CREATE OPERATOR trap.<> (LEFTARG = text, RIGHTARG = text, FUNCTION = trap.unequal);
    CREATE TEMP TABLE message (LIKE pg_catalog.pg_class);
    CREATE TEMP TABLE route (contract text, handler_key text, superseded_by text);
    INSERT INTO route VALUES ('pay', 'mine', NULL);
    SET search_path = trap, pg_temp, pg_catalog";

async fn trapped(database: &PostgresDatabase) -> Client {
    let owner = database.connect().await.unwrap();
    let made = "CREATE SCHEMA trap; GRANT ALL ON SCHEMA trap TO inbox_writer;
                SELECT inbox.schedule('pay', 1, '{\"id\": 7}', idempotency_key => 'first')";
    owner.batch_execute(made).await.unwrap();
    let writer = connect(database, "inbox_writer").await;
    writer.batch_execute(TRAPS).await.unwrap();
    writer
}

const CALLS: &str = "
    SELECT inbox.schedule('pay', 1, '{\"id\": 8}', idempotency_key => 'second');
    SELECT inbox.schedule('pay', 1, '{\"id\": 7}', idempotency_key => 'first');
    SELECT * FROM inbox.accepted(
        ARRAY[gen_random_uuid()], ARRAY[''], ARRAY['pay'], ARRAY['first'])";

/// What was called as someone other than the caller.
async fn caught(database: &PostgresDatabase) -> i64 {
    let client = database.connect().await.unwrap();
    let select = "SELECT count(*) FROM trap.caught WHERE who <> 'inbox_writer'";
    client.query_one(select, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn what_a_caller_has_in_its_search_path_is_not_used() {
    let database = database().await;
    let writer = trapped(&database).await;
    writer.batch_execute(CALLS).await.unwrap();
    assert_eq!(caught(&database).await, 0);
    let owner = database.connect().await.unwrap();
    let select = "SELECT count(*) FROM inbox.waiting WHERE handler_key = ''";
    assert_eq!(owner.query_one(select, &[]).await.unwrap().get::<_, i64>(0), 2);
}

#[tokio::test]
async fn the_traps_are_good_ones() {
    let database = database().await;
    let owner = database.connect().await.unwrap();
    let careless = "ALTER FUNCTION inbox.schedule RESET search_path";
    owner.batch_execute(careless).await.unwrap();
    let writer = trapped(&database).await;
    writer.batch_execute(CALLS).await.unwrap();
    assert!(caught(&database).await > 0, "they would have caught a function without a path");
}

#[tokio::test]
async fn a_stored_message_is_shown_only_to_whoever_knows_whose_it_is_and_what_it_is_called() {
    let database = database().await;
    let owner = database.connect().await.unwrap();
    let schedule = "SELECT message_id::text FROM inbox.schedule('pay', 1, '{\"id\": 7}',
                    tenant => 'acme', idempotency_key => 'first')";
    let id: String = owner.query_one(schedule, &[]).await.unwrap().get(0);
    let writer = connect(&database, "inbox_writer").await;
    for (id, tenant, contract, key, is_shown) in [
        (id.as_str(), "acme", "pay", None, true),
        (id.as_str(), "other", "pay", None, false),
        (id.as_str(), "acme", "ship", None, false),
        ("00000000-0000-7000-8000-000000000000", "acme", "pay", Some("first"), true),
        ("00000000-0000-7000-8000-000000000000", "other", "pay", Some("first"), false),
        ("00000000-0000-7000-8000-000000000000", "acme", "pay", Some("second"), false),
        ("00000000-0000-7000-8000-000000000000", "acme", "pay", None, false),
    ] {
        let select = "SELECT 1 FROM inbox.accepted(ARRAY[$1::text::uuid], ARRAY[$2::text],
                      ARRAY[$3::text], ARRAY[$4::text])";
        let rows = writer.query(select, &[&id, &tenant, &contract, &key]).await.unwrap();
        assert_eq!(rows.len(), usize::from(is_shown), "{id} {tenant} {contract} {key:?}");
    }
}
