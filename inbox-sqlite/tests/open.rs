//! Places where a store cannot be, and what is said about each.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::path::Path;
use std::time::Duration;

use inbox_core::Now;
use inbox_core::store::{Inspect as _, Maintain as _, StoreError, StoreErrorKind};
use inbox_sqlite::rusqlite::{Connection, TransactionBehavior};
use inbox_sqlite::{SqliteOptions, open};
use tempfile::TempDir;

/// Options of a store that waits for others as long as a busy machine takes.
fn patient() -> SqliteOptions {
    let patience = Duration::from_mins(10);
    SqliteOptions::new().busy_timeout(patience).call_timeout(patience)
}

async fn refused(path: impl AsRef<Path>) -> StoreError {
    patient().open(path).await.unwrap_err()
}

#[tokio::test]
async fn a_missing_directory_is_named() {
    let directory = TempDir::new().unwrap();
    let missing = directory.path().join("missing");
    let error = refused(missing.join("inbox.db")).await;
    assert_eq!(error.kind(), StoreErrorKind::CannotOpen);
    let expected = format!("the directory `{}` does not exist", missing.display());
    assert!(error.to_string().ends_with(&expected), "{error}");
}

#[tokio::test]
async fn a_path_that_names_no_file_is_refused_because_it_would_forget() {
    for path in ["", ":memory:"] {
        let error = refused(path).await;
        assert_eq!(error.kind(), StoreErrorKind::CannotOpen);
        assert!(error.to_string().contains("`inbox::sqlite::in_memory()`"), "{error}");
    }
}

#[tokio::test]
async fn the_longest_timeouts_are_possible() {
    let directory = TempDir::new().unwrap();
    let patient = SqliteOptions::new().busy_timeout(Duration::MAX).call_timeout(Duration::MAX);
    let store = patient.open(directory.path().join("inbox.db")).await.unwrap();
    assert!(store.counts().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_directory_is_no_file() {
    let directory = TempDir::new().unwrap();
    let error = refused(directory.path()).await;
    assert_eq!(error.kind(), StoreErrorKind::CannotOpen);
    assert!(error.to_string().contains("its path must name a file"), "{error}");
}

#[tokio::test]
async fn a_file_of_something_else_is_left_as_it_is() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("letter.txt");
    let letter = "Dear Ann, ".repeat(500);
    std::fs::write(&path, &letter).unwrap();
    let error = refused(&path).await;
    assert_eq!(error.kind(), StoreErrorKind::Corrupt);
    assert!(error.to_string().contains("is not a SQLite database"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), letter);
}

#[tokio::test]
async fn a_store_that_another_program_locks_is_busy_and_works_again_afterwards() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("inbox.db");
    let mut other = Connection::open(&path).unwrap();
    let lock = other.transaction_with_behavior(TransactionBehavior::Exclusive).unwrap();
    let impatient = SqliteOptions::new().busy_timeout(Duration::from_millis(50));
    let error = impatient.open(&path).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Busy);
    assert!(error.is_transient());
    assert!(error.to_string().contains("locked by another connection"), "{error}");
    lock.rollback().unwrap();
    open(&path).await.unwrap();
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_nothing_is_written() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("inbox.db");
    open(&path).await.unwrap().close().await;
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("INSERT INTO inbox_migration VALUES (999, 'from the future', 0)")
        .unwrap();
    drop(connection);
    let before = std::fs::read(&path).unwrap();
    let error = refused(&path).await;
    assert_eq!(error.kind(), StoreErrorKind::Schema);
    assert!(error.to_string().contains("has schema version 999"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_that_open_an_empty_file_at_once_end_in_one_schema() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("inbox.db");
    let opening = (0..20).map(|_| tokio::spawn(patient().open(path.clone())));
    for opened in opening.collect::<Vec<_>>() {
        opened.await.unwrap().unwrap();
    }
    let connection = Connection::open(&path).unwrap();
    let applied: i64 = connection
        .query_row("SELECT count(*) FROM inbox_migration WHERE version = 1", [], |row| row.get(0))
        .unwrap();
    assert_eq!(applied, 1);
}

#[tokio::test]
async fn a_closed_store_says_so() {
    let store = inbox_sqlite::in_memory().await.unwrap();
    let other = store.clone();
    store.close().await;
    let error = other.counts().await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Closed);
    other.close().await;
}

#[tokio::test]
async fn the_tables_live_beside_those_of_the_application() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("application.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE message (text TEXT); PRAGMA user_version = 7").unwrap();
    open(&path).await.unwrap();
    let version: i64 =
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 7);
    connection.execute_batch("INSERT INTO message VALUES ('mine')").unwrap();
}

#[tokio::test]
async fn a_table_of_the_applications_with_our_name_is_told_in_one_line() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("application.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE inbox_message (x)").unwrap();
    let error = refused(&path).await;
    assert!(error.to_string().contains("rename it, or give the inbox another file"), "{error}");
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(cause, "table inbox_message already exists");
}

/// What a user without the right to write meets. Root may write anything, so this runs as nobody.
#[tokio::test]
async fn a_file_that_may_only_be_read_is_named_as_such() {
    if let Ok(path) = std::env::var("INBOX_READ_ONLY_FILE") {
        let error = match SqliteOptions::new().open(&path).await {
            // What is there can be read; it cannot be added to.
            Ok(store) => store.register_routes(Vec::new(), Now::OfStore).await.unwrap_err(),
            Err(error) => error,
        };
        assert_eq!(error.kind(), StoreErrorKind::ReadOnly, "{error}");
        assert!(error.to_string().contains("cannot be written"), "{error}");
        return;
    }
    for has_tables in [false, true] {
        for directory_mode in [0o555, 0o777] {
            let directory = TempDir::new().unwrap();
            let path = directory.path().join("inbox.db");
            match has_tables {
                true => open(&path).await.unwrap().close().await,
                false => {
                    Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
                }
            }
            as_nobody(directory.path(), directory_mode, &path);
        }
    }
}

/// Runs the test above once more, as a user who owns nothing here.
fn as_nobody(directory: &Path, directory_mode: u32, path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;

    const NOBODY: u32 = 65_534;
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    // A copy, because the place of the original may be closed to nobody.
    let program = directory.join("test");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    allow(&program, 0o755);
    allow(path, 0o444);
    allow(directory, directory_mode);
    let mut command = std::process::Command::new(&program);
    command
        .args(["--exact", "a_file_that_may_only_be_read_is_named_as_such", "--nocapture"])
        .env("INBOX_READ_ONLY_FILE", path)
        .current_dir("/");
    // Only root can become someone else, and only root needs to.
    if std::process::Command::new("id").arg("-u").output().unwrap().stdout == b"0\n" {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().unwrap();
    allow(directory, 0o755);
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{directory_mode:o} {}", String::from_utf8_lossy(&said));
}
