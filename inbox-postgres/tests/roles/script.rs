//! The script that makes the roles.

use inbox::postgres::PostgresOptions;
use inbox_testing::postgres::PostgresDatabase;

use crate::kit::{ROLES, connect, database};

#[tokio::test]
async fn the_script_may_be_run_again_and_takes_away_what_was_granted_by_hand() {
    let database = database().await;
    let owner = database.connect().await.unwrap();
    let by_hand = "GRANT ALL ON ALL TABLES IN SCHEMA inbox TO inbox_writer";
    owner.batch_execute(by_hand).await.unwrap();
    let roles = PostgresOptions::new().roles_sql().unwrap();
    for _ in 0..2 {
        owner.batch_execute(&roles).await.unwrap();
    }
    let writer = connect(&database, "inbox_writer").await;
    writer.batch_execute("SELECT * FROM inbox.message").await.unwrap_err();
    writer.batch_execute("SELECT inbox.schedule('pay', 1, '{}')").await.unwrap();
}

#[tokio::test]
async fn another_schema_has_roles_of_its_own() {
    let database = database().await;
    let schema = format!("{database} \"it's\"");
    let options = PostgresOptions::new().schema(&schema);
    options.clone().migrate_config(database.config().clone()).await.unwrap();
    let owner = database.connect().await.unwrap();
    owner.batch_execute(&options.roles_sql().unwrap()).await.unwrap();
    let quoted = |end: &str| format!("\"{}{end}\"", schema.replace('"', "\"\""));
    let call = format!("SELECT {}.schedule('pay', 1, '{{}}')", quoted(""));
    let writer = connect(&database, &quoted("_writer")).await;
    writer.batch_execute(&call).await.unwrap();
    let other = connect(&database, ROLES[0]).await;
    other.batch_execute(&call).await.unwrap_err();
    for role in ["_writer", "_bulk_writer", "_worker", "_operator"].map(quoted) {
        let gone = format!("DROP OWNED BY {role}; DROP ROLE {role}");
        owner.batch_execute(&gone).await.unwrap();
    }
}

#[tokio::test]
async fn whoever_may_only_use_the_schema_calls_nothing_even_without_the_script() {
    let database = PostgresDatabase::create().await.unwrap();
    PostgresOptions::new().migrate_config(database.config().clone()).await.unwrap();
    let owner = database.connect().await.unwrap();
    let role = format!("{database}_stranger");
    let made = format!("CREATE ROLE {role}; GRANT USAGE ON SCHEMA inbox TO {role}");
    owner.batch_execute(&made).await.unwrap();
    let callable = "SELECT count(*) FROM pg_proc WHERE pronamespace = 'inbox'::regnamespace
                    AND has_function_privilege($1::text::name, oid, 'EXECUTE')";
    let row = owner.query_one(callable, &[&role]).await.unwrap();
    assert_eq!(row.get::<_, i64>(0), 0);
    owner.batch_execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).await.unwrap();
}
