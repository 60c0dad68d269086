use inbox_testing::postgres::{PgBouncer, PostgresServer};
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::look::{connect, until};

/// The process of the server that does what this client asks.
async fn process(client: &Client) -> String {
    let rows = client.simple_query("SELECT pg_backend_pid()").await.unwrap();
    let row = rows.iter().find_map(|row| match row {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    row.unwrap().to_owned()
}

#[tokio::test]
async fn a_pooler_gives_each_transaction_a_connection_and_is_gone_with_its_owner() {
    let server = PostgresServer::start().unwrap();
    let pooler = PgBouncer::before(&server.url("postgres").parse().unwrap(), 2).unwrap();
    // What is said in the address is the store's to read.
    let url = pooler.url("postgres", "postgres").replace("?pgbouncer=true", "");
    let (one, other) = (connect(&url).await.unwrap(), connect(&url).await.unwrap());
    assert_eq!(process(&one).await, process(&other).await, "one is enough for both");
    one.batch_execute("BEGIN").await.unwrap();
    assert_ne!(process(&one).await, process(&other).await);
    one.batch_execute("COMMIT").await.unwrap();
    drop(pooler);
    until("the connection's end", async || one.is_closed().then_some(())).await;
    connect(&url).await.unwrap_err();
}
