//! `schedule(.., notify => true)` from SQL tells those that listen.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::future::poll_fn;
use std::time::Duration;

use inbox_postgres::PostgresOptions;
use inbox_postgres::tokio_postgres::{AsyncMessage, Client, NoTls};
use inbox_testing::postgres::PostgresDatabase;
use tokio::sync::mpsc;

/// A schema, and what is heard on its channel.
struct Ear {
    database: PostgresDatabase,
    client: Client,
    /// The schema as SQL writes it.
    schema: String,
    listener: Client,
    heard: mpsc::UnboundedReceiver<String>,
}

impl Ear {
    async fn new(schema: &str) -> Self {
        let database = PostgresDatabase::create().await.unwrap();
        let options = PostgresOptions::new().schema(schema);
        options.migrate_config(database.config().clone()).await.unwrap();
        let client = database.connect().await.unwrap();
        let (listener, mut connection) = database.config().connect(NoTls).await.unwrap();
        let (tell, heard) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await
            {
                if let AsyncMessage::Notification(heard) = message {
                    tell.send(heard.payload().to_owned()).unwrap();
                }
            }
        });
        // Longer than a name may be, it is cut by PostgreSQL itself.
        listener.batch_execute(&format!("LISTEN \"inbox.{schema}\"")).await.unwrap();
        Self { database, client, schema: format!("\"{schema}\""), listener, heard }
    }

    async fn schedule(&self, key: &str, notify: bool) {
        let call = format!(
            "SELECT {}.schedule('pay', 1, '{{}}', idempotency_key => '{key}', notify => {notify})",
            self.schema
        );
        self.client.batch_execute(&call).await.unwrap();
    }

    async fn run(&self, sql: &str) {
        self.client.batch_execute(sql).await.unwrap();
    }

    async fn next(&mut self) -> String {
        let next = tokio::time::timeout(Duration::from_mins(10), self.heard.recv());
        next.await.unwrap().unwrap()
    }

    /// What is told now is the next thing that is heard: there was nothing before it.
    async fn has_heard_nothing(&mut self) {
        let channel = "SELECT pg_notify(pg_listening_channels(), 'now')";
        self.listener.batch_execute(channel).await.unwrap();
        assert_eq!(self.next().await, "now");
    }
}

#[tokio::test]
async fn a_new_message_is_heard_of_when_it_is_committed_and_not_before() {
    let mut ear = Ear::new("inbox").await;
    ear.run("BEGIN").await;
    ear.schedule("first", true).await;
    ear.has_heard_nothing().await;
    ear.run("COMMIT").await;
    assert_eq!(ear.next().await, "");
    ear.has_heard_nothing().await;
    drop(ear.database);
}

#[tokio::test]
async fn nothing_is_heard_of_what_is_not_new_not_committed_or_not_asked_for() {
    let mut ear = Ear::new("inbox").await;
    ear.schedule("silent", false).await;
    ear.schedule("silent", true).await;
    ear.run("BEGIN").await;
    ear.schedule("never", true).await;
    ear.run("ROLLBACK").await;
    ear.has_heard_nothing().await;
    drop(ear.database);
}

#[tokio::test]
async fn every_schema_has_a_channel_however_long_its_name_is() {
    for schema in ["Our 'own' schema", &"x".repeat(63), &"é".repeat(31)] {
        let mut ear = Ear::new(schema).await;
        ear.schedule("first", true).await;
        assert_eq!(ear.next().await, "", "{schema}");
        drop(ear.database);
    }
}
