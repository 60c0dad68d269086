//! For every table, function and role: what it may do, and that all else is refused.

use std::collections::BTreeSet;

use inbox::postgres::tokio_postgres::Client;
use inbox::postgres::tokio_postgres::error::SqlState;

use crate::kit::{ROLES, connect, database};

/// All that is allowed; whoever adds a table adds a line where a role needs it.
const ALLOWED: [(&str, &str, &str); 30] = [
    ("inbox_writer", "migration", "SELECT"),
    ("inbox_bulk_writer", "migration", "SELECT"),
    ("inbox_bulk_writer", "message", "INSERT"),
    ("inbox_bulk_writer", "ready", "INSERT"),
    ("inbox_bulk_writer", "waiting", "INSERT"),
    ("inbox_bulk_writer", "route", "SELECT"),
    ("inbox_worker", "migration", "SELECT"),
    ("inbox_worker", "message", "SELECT"),
    ("inbox_worker", "ready", "SELECT INSERT UPDATE DELETE"),
    ("inbox_worker", "lease", "SELECT INSERT UPDATE DELETE"),
    ("inbox_worker", "waiting", "SELECT INSERT UPDATE DELETE"),
    ("inbox_worker", "route", "SELECT INSERT UPDATE"),
    ("inbox_worker", "lane", "SELECT INSERT UPDATE DELETE"),
    ("inbox_worker", "held", "SELECT INSERT UPDATE DELETE"),
    ("inbox_worker", "host", "SELECT INSERT UPDATE DELETE"),
    ("inbox_worker", "orphan", "SELECT INSERT UPDATE DELETE"),
    ("inbox_worker", "attempt", "INSERT"),
    ("inbox_worker", "dead", "INSERT"),
    ("inbox_worker", "done", "INSERT"),
    ("inbox_operator", "migration", "SELECT"),
    ("inbox_operator", "message", "SELECT"),
    ("inbox_operator", "ready", "SELECT INSERT UPDATE DELETE"),
    ("inbox_operator", "held", "SELECT UPDATE"),
    ("inbox_operator", "waiting", "SELECT INSERT UPDATE DELETE"),
    ("inbox_operator", "route", "SELECT UPDATE"),
    ("inbox_operator", "lane", "SELECT UPDATE DELETE"),
    ("inbox_operator", "host", "SELECT"),
    ("inbox_operator", "attempt", "SELECT"),
    ("inbox_operator", "dead", "SELECT UPDATE DELETE"),
    ("inbox_operator", "done", "SELECT INSERT"),
];

/// Functions that others call than those who schedule, with the rights of their own.
const HELPERS: [(&str, &[&str]); 2] = [
    ("inbox_worker", &["permits_used", "lane_next", "must_settle"]),
    ("inbox_operator", &["first_key", "lane_next"]),
];

/// Functions that schedule, and who calls them.
const CALLED: [&str; 2] = ["accepted", "schedule"];
const CALLERS: [&str; 3] = ["inbox_writer", "inbox_bulk_writer", "inbox_worker"];

/// The names of what is there, with the first column of each table.
async fn tables(client: &Client) -> Vec<(String, String)> {
    let select = "SELECT relname::text, attname::text FROM pg_class
                  JOIN pg_attribute ON attrelid = pg_class.oid AND attnum = 1
                  WHERE relnamespace = 'inbox'::regnamespace AND relkind IN ('r', 'p')";
    let rows = client.query(select, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// Whether the statement is refused for want of a right; whatever it did is undone.
async fn is_refused(client: &Client, statement: &str) -> bool {
    client.batch_execute("BEGIN").await.unwrap();
    let answer = client.batch_execute(statement).await;
    client.batch_execute("ROLLBACK").await.unwrap();
    answer.is_err_and(|error| error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE))
}

#[tokio::test]
async fn a_role_may_do_to_each_table_what_its_part_needs_and_nothing_else() {
    let database = database().await;
    let tables = tables(&database.connect().await.unwrap()).await;
    assert!(tables.len() >= 10, "{tables:?}");
    for role in ROLES {
        let client = connect(&database, role).await;
        for (table, column) in &tables {
            for (verb, statement) in [
                ("SELECT", format!("SELECT * FROM inbox.{table}")),
                ("INSERT", format!("INSERT INTO inbox.{table} DEFAULT VALUES")),
                ("UPDATE", format!("UPDATE inbox.{table} SET {column} = DEFAULT")),
                ("DELETE", format!("DELETE FROM inbox.{table}")),
                ("TRUNCATE", format!("TRUNCATE inbox.{table}")),
            ] {
                let allows = |one: &(&str, &str, &str)| {
                    (one.0, one.1) == (role, table.as_str())
                        && one.2.split(' ').any(|allowed| allowed == verb)
                };
                let is_allowed = ALLOWED.iter().any(allows);
                let is_refused = is_refused(&client, &statement).await;
                assert_eq!(is_refused, !is_allowed, "{role}: {statement}");
            }
        }
        let sees_all = !is_refused(&client, "SELECT * FROM inbox.delivery").await;
        assert_eq!(sees_all, role == "inbox_operator", "{role}");
    }
}

#[tokio::test]
async fn nobody_makes_anything_in_the_schema_or_takes_anything_away() {
    let database = database().await;
    for role in ROLES {
        let client = connect(&database, role).await;
        for statement in [
            "CREATE TABLE inbox.mine (id integer)",
            "CREATE FUNCTION inbox.mine() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
            "CREATE VIEW inbox.mine AS SELECT 1",
            "DROP TABLE inbox.done",
            "ALTER TABLE inbox.message ADD mine integer",
            "CREATE TRIGGER mine BEFORE INSERT ON inbox.message FOR EACH ROW
                 EXECUTE FUNCTION suppress_redundant_updates_trigger()",
            "ALTER FUNCTION inbox.schedule SECURITY INVOKER",
            "DROP SCHEMA inbox CASCADE",
            "LOCK TABLE inbox.message IN ACCESS EXCLUSIVE MODE",
            "SELECT nextval('inbox.attempt_id_seq')",
        ] {
            assert!(is_refused(&client, statement).await, "{role}: {statement}");
        }
    }
}

#[tokio::test]
async fn functions_are_called_by_those_who_schedule_and_by_nobody_else() {
    let database = database().await;
    let client = database.connect().await.unwrap();
    let stranger = format!("{database}_stranger");
    let make = format!("CREATE ROLE {stranger}; GRANT USAGE ON SCHEMA inbox TO {stranger}");
    client.batch_execute(&make).await.unwrap();
    let select = "SELECT proname::text, prosecdef, proconfig::text,
                         has_function_privilege($1::text::name, oid, 'EXECUTE')
                  FROM pg_proc WHERE pronamespace = 'inbox'::regnamespace";
    for role in ROLES.into_iter().chain([stranger.as_str()]) {
        let mut may_call = BTreeSet::new();
        for row in client.query(select, &[&role]).await.unwrap() {
            let (name, is_definer): (String, bool) = (row.get(0), row.get(1));
            // Whoever makes a function anew that others may call keeps it safe.
            assert_eq!(is_definer, CALLED.contains(&name.as_str()), "{name}");
            if is_definer {
                let path = Some("{\"search_path=pg_catalog, pg_temp\"}");
                assert_eq!(row.get::<_, Option<&str>>(2), path, "{name}");
            }
            if row.get(3) {
                may_call.insert(name);
            }
        }
        let mut expected = if CALLERS.contains(&role) { CALLED.to_vec() } else { Vec::new() };
        let helpers = HELPERS.iter().filter(|(of, _)| *of == role);
        expected.extend(helpers.flat_map(|(_, names)| names.iter()));
        expected.sort_unstable();
        assert_eq!(may_call.into_iter().collect::<Vec<_>>(), expected, "{role}");
    }
    let gone = format!("DROP OWNED BY {stranger}; DROP ROLE {stranger}");
    client.batch_execute(&gone).await.unwrap();
}
