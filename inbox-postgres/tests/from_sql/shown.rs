//! What the guides show is run as they show it.

use std::path::PathBuf;
use std::process::Command;

use inbox::postgres::PostgresOptions;
use inbox::store::DeliveryState;
use inbox::{Inbox, handler, inbox_contract};
use inbox_testing::postgres::PostgresDatabase;
use serde::{Deserialize, Serialize};

use crate::application;

#[inbox_contract(name = "ship", version = 1, idempotency_key = "ship-{order}")]
#[derive(Serialize, Deserialize)]
struct Ship {
    order: i64,
}

#[handler(key = "ship")]
async fn ship(command: Ship) -> Result<(), String> {
    match command.order {
        42 => Ok(()),
        other => Err(format!("order {other} was rolled back")),
    }
}

const TRANSACTIONS: &str = include_str!("../../../docs/guides/transactions.md");

const ROLES: &str = include_str!("../../../docs/guides/roles-and-poolers.md");

const SCHEMA: &str = include_str!("../../../docs/guides/schema.md");

/// Debian's, which finds Debian's modules.
const PYTHON: &str = "/usr/bin/python3";

/// The block of `guide` in this language that contains `part`.
fn shown(guide: &str, language: &str, part: &str) -> String {
    let blocks = guide.split("\n```").filter_map(|block| block.strip_prefix(language));
    let mut blocks = blocks.filter_map(|block| block.strip_prefix('\n'));
    blocks.find(|block| block.contains(part)).unwrap().to_owned()
}

/// Where psql may be, besides the path: beside the servers.
fn path() -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let config = Command::new("pg_config").arg("--bindir").output();
    let config = config.map(|output| String::from_utf8(output.stdout).unwrap()).ok();
    let debian = PathBuf::from("/usr/lib/postgresql").read_dir().into_iter().flatten().flatten();
    let debian = debian.map(|version| version.path().join("bin"));
    let beside = config.map(|directory| PathBuf::from(directory.trim())).into_iter().chain(debian);
    std::env::join_paths(std::env::split_paths(&path).chain(beside)).unwrap()
}

fn run(program: &str, text: &str, database: &PostgresDatabase) -> String {
    let mut command = Command::new(program);
    command.args(["-c", text]).env("PATH", path()).env("DATABASE_URL", database.url());
    let output = command.output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "`cargo xtask test` installs what this needs: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

async fn shop() -> (PostgresDatabase, Inbox<inbox::postgres::PostgresStore>) {
    let (database, inbox) = application().await;
    let client = database.connect().await.unwrap();
    client.batch_execute("CREATE TABLE orders (id bigint PRIMARY KEY)").await.unwrap();
    (database, inbox)
}

/// Order 42 is there and its command handled, and of any other there is nothing.
async fn assert_placed(database: &PostgresDatabase, inbox: &Inbox<inbox::postgres::PostgresStore>) {
    let client = database.connect().await.unwrap();
    let rows = "SELECT (SELECT array_agg(id) FROM orders), (SELECT count(*) FROM inbox.message)";
    let row = client.query_one(rows, &[]).await.unwrap();
    assert_eq!((row.get::<_, Vec<i64>>(0), row.get::<_, i64>(1)), (vec![42], 1));
    assert_eq!(inbox.process_pending().await.unwrap().completed, 1);
}

#[tokio::test]
async fn psql_schedules_with_what_it_commits() {
    let (database, inbox) = shop().await;
    let text = shown(TRANSACTIONS, "sh", "psql");
    run("sh", &text.replace("42", "43").replace("COMMIT", "ROLLBACK"), &database);
    let said = run("sh", &text, &database);
    assert!(said.contains("message_id"), "{said}");
    assert_placed(&database, &inbox).await;
}

#[tokio::test]
async fn python_schedules_with_what_it_commits() {
    let (database, inbox) = shop().await;
    let text = shown(TRANSACTIONS, "python", "psycopg2");
    let rolled_back = "
assert is_new
try:
    with connection, connection.cursor() as cursor:
        message_id, is_new = place(cursor, 43)
        assert is_new
        raise KeyError('the order is cancelled')
except KeyError:
    pass
with connection, connection.cursor() as cursor:
    cursor.execute('SELECT count(*) FROM inbox.message WHERE id = %s', (message_id,))
    assert cursor.fetchone() == (0,)
";
    run(PYTHON, &format!("{text}{rolled_back}"), &database);
    assert_placed(&database, &inbox).await;
}

#[tokio::test]
async fn a_trigger_schedules_in_the_transaction_that_fires_it() {
    let (database, inbox) = shop().await;
    let client = database.connect().await.unwrap();
    client.batch_execute(&shown(TRANSACTIONS, "sql", "CREATE TRIGGER")).await.unwrap();
    for sql in [
        "BEGIN; INSERT INTO orders VALUES (43); ROLLBACK",
        "INSERT INTO orders VALUES (42)",
        // Deleted and inserted again, it is the same command.
        "DELETE FROM orders; INSERT INTO orders VALUES (42)",
    ] {
        client.batch_execute(sql).await.unwrap();
    }
    assert_placed(&database, &inbox).await;
}

#[tokio::test]
async fn the_statement_that_the_guide_shows_schedules() {
    let (database, inbox) = shop().await;
    let client = database.connect().await.unwrap();
    let text = shown(TRANSACTIONS, "sql", "SELECT message_id");
    for is_new in [true, false] {
        let row = client.query_one(text.trim().trim_end_matches(';'), &[]).await.unwrap();
        assert_eq!(row.get::<_, bool>("is_new"), is_new);
    }
    let waiting = inbox::store::DeliveryFilter::in_state(DeliveryState::Waiting);
    assert_eq!(inbox.list(waiting).await.unwrap().deliveries.len(), 1);
}

#[tokio::test]
async fn the_roles_are_made_by_psql_and_their_members_are_as_the_guide_shows() {
    let (database, inbox) = shop().await;
    let roles = PostgresOptions::new().roles_sql().unwrap();
    let psql = "psql \"$DATABASE_URL\" --set ON_ERROR_STOP=1 --quiet";
    // Roles belong to the server, so these have names of their own.
    let mut members = shown(ROLES, "sql", "CREATE ROLE web");
    for name in ["web", "worker", "support"] {
        members = members.replace(&format!("ROLE {name} "), &format!("ROLE {database}_{name} "));
    }
    run("sh", &format!("{psql} <<'END'\n{roles}{members}\nEND"), &database);
    let client = database.connect().await.unwrap();
    let call =
        format!("SET ROLE {database}_web; SELECT inbox.schedule('ship', 1, '{{\"order\": 42}}')");
    client.batch_execute(&call).await.unwrap();
    assert_eq!(inbox.process_pending().await.unwrap().completed, 1);
    let gone = ["web", "worker", "support"].map(|name| format!("DROP ROLE {database}_{name};"));
    client.batch_execute(&format!("RESET ROLE; {}", gone.join(" "))).await.unwrap();
}

#[tokio::test]
async fn a_role_with_the_rights_that_the_guide_grants_schedules_and_works() {
    let (database, _inbox) = shop().await;
    let client = database.connect().await.unwrap();
    // Roles belong to the server, so this one has a name of its own.
    let role = format!("{database}_shop");
    let grants = shown(SCHEMA, "sql", "GRANT").replace("shop", &role);
    client.batch_execute(&format!("CREATE ROLE {role} LOGIN; {grants}")).await.unwrap();
    let mut config = database.config().clone();
    config.options(format!("-c role={role}"));
    let store = PostgresOptions::new().connections(2).open_config(config).await.unwrap();
    let inbox = Inbox::builder(store.clone()).build().await.unwrap();
    let options = inbox::ScheduleOptions::new();
    inbox.scheduler().schedule(Ship { order: 42 }, options).await.unwrap();
    let text = "SELECT inbox.schedule('ship', 1, '{\"order\": 42}')";
    client.batch_execute(&format!("SET ROLE {role}; {text}; RESET ROLE")).await.unwrap();
    assert_eq!(inbox.process_pending().await.unwrap().completed, 2);
    // It may not make a schema, nor change this one.
    let refused = client.batch_execute(&format!("SET ROLE {role}; DROP TABLE inbox.done")).await;
    refused.unwrap_err();
    drop(inbox);
    store.close().await;
    let gone = format!("RESET ROLE; DROP OWNED BY {role}; DROP ROLE {role}");
    client.batch_execute(&gone).await.unwrap();
}
