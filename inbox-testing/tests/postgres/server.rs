use inbox_testing::postgres::{PostgresError, PostgresServer};

use crate::look::{connect, until};

/// Stops a server that has a row and a connection, and looks at both.
async fn comes_back(stop: fn(&mut PostgresServer) -> Result<(), PostgresError>, says: &str) {
    let mut server = PostgresServer::start().unwrap();
    let before = connect(&server.url("postgres")).await.unwrap();
    before.batch_execute("CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)").await.unwrap();
    before.batch_execute("BEGIN; INSERT INTO kept VALUES (8)").await.unwrap();
    for _ in 0..2 {
        stop(&mut server).unwrap();
    }
    // It answers at once, at the same address, with what was committed.
    let after = connect(&server.url("postgres")).await.unwrap();
    let rows = after.query("SELECT n FROM kept", &[]).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.get::<_, i32>(0)).collect::<Vec<_>>(), [7]);
    assert!(before.batch_execute("COMMIT").await.is_err(), "a connection outlived its server");
    let log = std::fs::read_to_string(server.directory().join("log")).unwrap();
    assert_eq!(log.matches(says).count(), 2, "{log}");
    // And it still goes with its owner.
    let directory = server.directory().to_owned();
    drop(server);
    assert!(!directory.exists());
    until("the connection's end", async || after.is_closed().then_some(())).await;
}

#[tokio::test]
async fn a_server_that_is_restarted_has_its_data_and_no_connections() {
    comes_back(PostgresServer::restart, "received fast shutdown request").await;
}

#[tokio::test]
async fn a_server_that_crashed_recovers_what_was_committed() {
    comes_back(PostgresServer::crash, "database system was not properly shut down").await;
}
