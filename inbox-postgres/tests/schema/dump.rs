use inbox_testing::postgres::PostgresDatabase;

use crate::ensure;

/// Set, the checked-in text is written instead of compared.
const REWRITE: &str = "INBOX_REWRITE_SCHEMA";

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/schema.txt");

/// The schema `inbox` in words; empty where there is none.
pub(crate) async fn dump(database: &PostgresDatabase) -> String {
    let client = database.connect().await.unwrap();
    let exists = "SELECT to_regnamespace('inbox') IS NOT NULL";
    if !client.query_one(exists, &[]).await.unwrap().get::<_, bool>(0) {
        return String::new();
    }
    client.batch_execute("SET search_path = pg_catalog").await.unwrap();
    let rows = client.query(include_str!("catalog.sql"), &[]).await.unwrap();
    let texts: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    texts.join("\n\n") + "\n"
}

#[tokio::test]
async fn all_migrations_together_make_the_schema_that_is_checked_in() {
    let database = PostgresDatabase::create().await.unwrap();
    ensure(&database).await.unwrap();
    let made = dump(&database).await;
    if std::env::var_os(REWRITE).is_some() {
        std::fs::write(FILE, &made).unwrap();
    }
    let expected = std::fs::read_to_string(FILE).unwrap();
    assert!(
        made == expected,
        "the schema is not that of schema.txt: write it anew with {REWRITE}=1"
    );
}
