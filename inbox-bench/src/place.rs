use std::sync::Arc;

use anyhow::Result;
use inbox::Scheduler;
use inbox::postgres::tokio_postgres::{Client, NoTls};
use inbox::postgres::{PostgresOptions, PostgresStore};
use inbox::store::{Maintain as _, Now, Route};
use inbox::testing::postgres::PostgresServer;

use crate::contract::HANDLER;

/// A durable server, and a store on it.
pub(crate) struct Place {
    server: PostgresServer,
    pub(crate) store: Arc<PostgresStore>,
    pub(crate) scheduler: Scheduler<PostgresStore>,
}

impl Place {
    pub(crate) async fn start() -> Result<Self> {
        let server = PostgresServer::start_durable()?;
        let options = PostgresOptions::new().ensure_schema();
        let store = Arc::new(options.open(&server.url("postgres")).await?);
        let route = Route {
            contract: "bench".to_owned(),
            handler_key: HANDLER.to_owned(),
            supersedes: Vec::new(),
        };
        store.register_routes(vec![route], Now::OfStore).await?;
        let place = Self { server, scheduler: Scheduler::new(Arc::clone(&store)), store };
        place.connect().await?.batch_execute(crate::raw::TABLE).await?;
        Ok(place)
    }

    /// A connection for raw SQL.
    pub(crate) async fn connect(&self) -> Result<Client> {
        let url = self.server.url("postgres");
        let (client, connection) = inbox::postgres::tokio_postgres::connect(&url, NoTls).await?;
        // Ends with its client.
        tokio::spawn(async move { connection.await.ok() });
        Ok(client)
    }

    /// Nothing is left of the measurement before.
    pub(crate) async fn clear(&self) -> Result<()> {
        let clear = "TRUNCATE inbox.message, inbox.ready, inbox.lease, inbox.waiting, inbox.done,
                     inbox.attempt, inbox.dead, raw_job; CHECKPOINT";
        for statement in clear.split(';') {
            self.connect().await?.batch_execute(statement).await?;
        }
        Ok(())
    }
}
