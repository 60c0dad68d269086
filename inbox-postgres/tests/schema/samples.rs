use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use inbox::postgres::tokio_postgres::Client;
use inbox::store::{DeliveryState, Inspect as _};
use inbox::{Inbox, MessageId, handler, inbox_contract};
use inbox_testing::postgres::PostgresDatabase;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::open;
use crate::reach::PATIENCE;

#[inbox_contract(name = "sample", version = 1)]
#[derive(Serialize, Deserialize)]
struct Sample {
    place: String,
}

#[handler(key = "sample")]
async fn sample(_command: Sample) {}

/// The dead letter among the samples.
const DEAD: &str = "01900000-0000-7000-8000-000000000005";

fn files(directory: &str) -> Vec<PathBuf> {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory).read_dir().unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

/// The migrations, each with its number, its name and its sample.
fn migrations() -> Vec<(i32, String, PathBuf, PathBuf)> {
    let numbered = files("migrations").into_iter().filter_map(|file| {
        let (number, name) = file.file_stem()?.to_str()?.split_once('_')?;
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
        let sample = sample.join(file.file_name()?);
        Some((number.parse().ok()?, name.to_owned(), file, sample))
    });
    numbered.collect()
}

#[test]
fn every_migration_has_a_sample_of_what_is_stored_after_it() {
    let expected: Vec<_> = migrations().into_iter().map(|(.., sample)| sample).collect();
    assert_eq!(files("tests/samples"), expected);
}

#[tokio::test]
async fn every_migration_keeps_what_was_stored_before_it_and_the_store_goes_on_with_all_of_it() {
    let database = PostgresDatabase::create().await.unwrap();
    let client = database.connect().await.unwrap();
    let run = async |sql: &str| {
        let sql = sql.replace(":schema", "inbox").replace(":channel", "'inbox.inbox'");
        let sql = sql.replace(":position", "'inbox.position'");
        client.batch_execute(&sql).await.unwrap();
    };
    run("CREATE SCHEMA inbox").await;
    run(include_str!("../../migrations/history.sql")).await;
    let mut stored = Stored::new();
    for (number, name, file, sample) in migrations() {
        let sql = std::fs::read_to_string(&file).unwrap();
        run(&sql).await;
        let record = "INSERT INTO inbox.migration VALUES ($1, $2, encode(sha256(convert_to($3, 'UTF8')), 'hex'))";
        client.execute(record, &[&number, &name, &sql]).await.unwrap();
        assert_kept(&stored, &rows(&client).await);
        run(&std::fs::read_to_string(sample).unwrap()).await;
        stored = rows(&client).await;
    }
    let messages = stored["message"].len();
    // It is the schema that the store would have made.
    let store = open(&database).await.unwrap();
    let inbox = Inbox::builder(store).build().await.unwrap();
    let dead: MessageId = DEAD.parse().unwrap();
    assert!(inbox.retry(dead, "sample").await.unwrap());
    let all_completed = async {
        loop {
            inbox.process_pending().await.unwrap();
            let counts = inbox.store().counts().await.unwrap();
            if let [all] = counts.as_slice() {
                assert_eq!(all.state, DeliveryState::Completed);
                return all.count;
            }
        }
    };
    let completed = tokio::time::timeout(PATIENCE, all_completed).await.unwrap();
    assert_eq!(usize::try_from(completed).unwrap(), messages);
}

/// The rows of each table.
type Stored = BTreeMap<String, Vec<Value>>;

async fn rows(client: &Client) -> Stored {
    let tables = "SELECT relname::text FROM pg_class
                  WHERE relnamespace = 'inbox'::regnamespace AND relkind = 'r'";
    let mut stored = Stored::new();
    for table in client.query(tables, &[]).await.unwrap() {
        let table: String = table.get(0);
        let all = format!("SELECT to_jsonb(stored)::text FROM inbox.{table} AS stored");
        let rows = client.query(&all, &[]).await.unwrap();
        let rows = rows.iter().map(|row| serde_json::from_str(row.get(0)).unwrap());
        stored.insert(table, rows.collect());
    }
    stored
}

/// A migration may add to a row; what the row said, it still says.
fn assert_kept(before: &Stored, after: &Stored) {
    for (table, rows) in before {
        for row in rows {
            let row = row.as_object().unwrap();
            let is_kept =
                |now: &Value| row.iter().all(|(column, value)| now.get(column) == Some(value));
            assert!(after[table].iter().any(is_kept), "{table} lost {row:?}");
        }
    }
}
