use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use futures_util::future::try_join_all;
use inbox::testing::postgres::PostgresServer;
use tokio_postgres::{Client, NoTls};

use crate::contract::Command;
use crate::ours::Ours;
use crate::raw::Raw;
use crate::side::{Side, TASKS};

/// A durable server, and both sides on it.
pub(crate) struct Place {
    inbox: Arc<Side>,
    raw: Arc<Side>,
    admin: Client,
    // Last: it stops after those that are connected to it.
    server: PostgresServer,
}

impl Place {
    pub(crate) async fn start() -> Result<Self> {
        let server = PostgresServer::start_durable()?;
        let inbox = Ours::open(&server.url("postgres")).await?;
        let clients = try_join_all((0..TASKS).map(|_| connect(&server))).await?;
        let admin = connect(&server).await?;
        admin.batch_execute("CREATE TABLE effect (number bigint PRIMARY KEY)").await?;
        let raw = Raw::prepare(clients).await?;
        let (inbox, raw) = (Arc::new(Side::Inbox(inbox)), Arc::new(Side::Raw(raw)));
        Ok(Self { inbox, raw, admin, server })
    }

    /// Both sides, the other one first every time: noise that grows or fades hits both alike.
    pub(crate) fn sides(&self, round: usize) -> [&Arc<Side>; 2] {
        match round.is_multiple_of(2) {
            true => [&self.inbox, &self.raw],
            false => [&self.raw, &self.inbox],
        }
    }

    /// Our side, where raw SQL has nothing like what is measured.
    pub(crate) fn ours(&self) -> Result<&Ours> {
        match &*self.inbox {
            Side::Inbox(ours) => Ok(ours),
            Side::Raw(_) => bail!("the first side is ours"),
        }
    }

    /// Leaves nothing of the measurement before.
    pub(crate) async fn clear(&self) -> Result<()> {
        let tables = "TRUNCATE inbox.message, inbox.ready, inbox.lease, inbox.held, inbox.waiting,
                      inbox.done, inbox.attempt, inbox.dead, inbox.lane, effect";
        self.admin.batch_execute(tables).await?;
        // So that none falls into a measurement.
        self.admin.batch_execute("CHECKPOINT").await?;
        Ok(())
    }

    /// Stores `count` commands in the fastest way there is.
    pub(crate) async fn fill(&self, count: usize) -> Result<()> {
        const AT_ONCE: usize = 5_000;
        for first in (0..count).step_by(AT_ONCE) {
            let numbers = first..count.min(first + AT_ONCE);
            self.raw.schedule_all(numbers.map(Command::new).collect()).await?;
        }
        Ok(())
    }

    /// How many deliveries are done. Fails if one is anywhere else: what was not done was not measured.
    pub(crate) async fn done(&self) -> Result<i64> {
        let sql = "SELECT (SELECT count(*) FROM inbox.done),
                          (SELECT count(*) FROM inbox.ready) + (SELECT count(*) FROM inbox.held)
                              + (SELECT count(*) FROM inbox.waiting)";
        let row = self.admin.query_one(sql, &[]).await?;
        let (done, left): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        ensure!(
            left == 0,
            "{left} rows are left in `ready`, `held` and `waiting`: the drain is broken"
        );
        Ok(done)
    }

    /// A transaction that keeps all that is deleted from now on from being removed, until it is
    /// dropped.
    pub(crate) async fn pin(&self) -> Result<Client> {
        let client = connect(&self.server).await?;
        let open = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM inbox.route";
        client.batch_execute(open).await?;
        Ok(client)
    }
}

async fn connect(server: &PostgresServer) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(&server.url("postgres"), NoTls).await?;
    // Ends with its client.
    tokio::spawn(async move { connection.await.ok() });
    Ok(client)
}
