//! What a careful engineer would write by hand for the same tables: no idempotency, no routes, no
//! priorities, no quarantine, no retries.

use std::sync::atomic::{AtomicI64, Ordering};

use anyhow::{Result, ensure};
use tokio_postgres::types::Json;
use tokio_postgres::{Client, Statement};
use uuid::Uuid;

use crate::contract::{Command, HANDLER};

/// The statements are planned while the tables are empty, as after every start. Left to itself, the
/// server would plan to read a whole table then, and stay with it when there is a backlog.
const SESSION: &str = "SET plan_cache_mode = force_generic_plan;
SET enable_bitmapscan = off;
SET enable_seqscan = off;
SET jit = off";

const INSERT: &str = "WITH message AS (
    INSERT INTO inbox.message (id, contract, version, payload, accepted_at)
    VALUES ($1, 'bench', 1, $2, clock_timestamp())
)
INSERT INTO inbox.ready (handler_key, priority, version, message_id)
VALUES ('bench', 1, 1, $1)";

const INSERT_MANY: &str = "WITH message AS (
    INSERT INTO inbox.message (id, contract, version, payload, accepted_at)
    SELECT id, 'bench', 1, payload, clock_timestamp()
    FROM unnest($1::uuid[], $2::jsonb[]) AS given (id, payload)
)
INSERT INTO inbox.ready (handler_key, priority, version, message_id)
SELECT 'bench', 1, 1, id FROM unnest($1::uuid[]) AS id";

/// The columns that only the library uses are as empty as the table allows.
const LEASE: &str = "WITH taken AS (
    DELETE FROM inbox.ready
    WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM inbox.ready
        WHERE handler_key = $2 AND NOT ordered AND level = 1 AND version = 1 AND seq > $3
        ORDER BY seq
        LIMIT $4
        FOR UPDATE SKIP LOCKED
    ))
    RETURNING seq, message_id, position
),
leased AS (
    INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at)
    SELECT $1, 'raw', $2, false, 3, now() + interval '1 minute'
    WHERE EXISTS (SELECT 1 FROM taken)
),
held AS (
    INSERT INTO inbox.held (
        lease_id, message_id, leased_at, version, attempt, crashes, priority, limited, blocks, handler_key,
        first_key, tenant, position
    )
    SELECT $1, message_id, now(), 1, 1, 0, 1, false, false, $2, '', '', position FROM taken
)
SELECT taken.seq, message.payload::text
FROM taken
CROSS JOIN LATERAL (
    SELECT payload FROM inbox.message WHERE id = taken.message_id LIMIT 1
) AS message";

const SETTLE: &str = "WITH ended AS (
    DELETE FROM inbox.held WHERE lease_id = $1 RETURNING handler_key, leased_at, message_id
),
over AS (
    DELETE FROM inbox.lease WHERE id = $1
)
INSERT INTO inbox.done (message_id, handler_key, outcome, attempts, took, done_at)
SELECT message_id, handler_key, 'completed', 1, now() - leased_at, now()
FROM ended";

const TAKE: &str = "DELETE FROM inbox.ready
WHERE ctid = (
    SELECT ctid FROM inbox.ready
    WHERE handler_key = $1 AND NOT ordered AND level = 1 AND version = 1
    ORDER BY seq
    LIMIT 1
    FOR UPDATE SKIP LOCKED
)
RETURNING seq, message_id";

const EFFECT: &str = "INSERT INTO effect (number) VALUES ($1)";

const DONE: &str =
    "INSERT INTO inbox.done (message_id, handler_key, outcome, attempts, took, done_at)
VALUES ($1, $2, 'completed', 1, '0', now())";

/// Raw SQL on its connections, one for each task or worker.
pub(crate) struct Raw(Vec<Connection>);

struct Connection {
    client: Client,
    insert: Statement,
    insert_many: Statement,
    lease: Statement,
    settle: Statement,
    take: Statement,
    effect: Statement,
    done: Statement,
    /// Claims find what is above, as the library's do: see `LEASE`'s `seq > $3`.
    mark: AtomicI64,
}

/// A batch that a worker holds.
pub(crate) struct Held {
    token: Uuid,
    pub(crate) payloads: Vec<String>,
}

impl Raw {
    pub(crate) async fn prepare(clients: Vec<Client>) -> Result<Self> {
        let mut connections = Vec::new();
        for client in clients {
            client.batch_execute(SESSION).await?;
            connections.push(Connection {
                insert: client.prepare(INSERT).await?,
                insert_many: client.prepare(INSERT_MANY).await?,
                lease: client.prepare(LEASE).await?,
                settle: client.prepare(SETTLE).await?,
                take: client.prepare(TAKE).await?,
                effect: client.prepare(EFFECT).await?,
                done: client.prepare(DONE).await?,
                mark: AtomicI64::new(0),
                client,
            });
        }
        Ok(Self(connections))
    }

    pub(crate) async fn schedule(&self, task: usize, command: Command) -> Result<()> {
        let Connection { client, insert, .. } = &self.0[task];
        client.execute(insert, &[&Uuid::now_v7(), &Json(command)]).await?;
        Ok(())
    }

    pub(crate) async fn schedule_all(&self, commands: Vec<Command>) -> Result<()> {
        let Connection { client, insert_many, .. } = &self.0[0];
        let ids: Vec<_> = commands.iter().map(|_| Uuid::now_v7()).collect();
        let payloads: Vec<_> = commands.into_iter().map(Json).collect();
        client.execute(insert_many, &[&ids, &payloads]).await?;
        Ok(())
    }

    pub(crate) async fn lease(&self, worker: usize, limit: u32) -> Result<Option<Held>> {
        let Connection { client, lease, mark, .. } = &self.0[worker];
        let (token, limit) = (Uuid::now_v7(), i64::from(limit));
        let low = mark.load(Ordering::Relaxed);
        let rows = client.query(lease, &[&token, &HANDLER, &low, &limit]).await?;
        // Only while there is a backlog: what commits late would otherwise never be seen.
        let is_full = i64::try_from(rows.len())? == limit;
        let last = rows.iter().map(|row| row.get(0)).max().filter(|_| is_full);
        mark.store(last.unwrap_or(0), Ordering::Relaxed);
        let payloads: Vec<String> = rows.iter().map(|row| row.get(1)).collect();
        Ok(if payloads.is_empty() { None } else { Some(Held { token, payloads }) })
    }

    /// Takes one, leaves a row behind and writes that it is done, in a transaction. Answers whether there
    /// was one.
    pub(crate) async fn take_effect(&self, worker: usize) -> Result<bool> {
        let Connection { client, take, effect, done, .. } = &self.0[worker];
        client.batch_execute("BEGIN").await?;
        let taken = client.query_opt(take, &[&HANDLER]).await?;
        if let Some(row) = &taken {
            client.execute(effect, &[&row.get::<_, i64>(0)]).await?;
            client.execute(done, &[&row.get::<_, Uuid>(1), &HANDLER]).await?;
        }
        client.batch_execute("COMMIT").await?;
        Ok(taken.is_some())
    }

    pub(crate) async fn settle(&self, worker: usize, held: Option<Held>) -> Result<()> {
        let Some(held) = held else { return Ok(()) };
        let Connection { client, settle, .. } = &self.0[worker];
        let settled = client.execute(settle, &[&held.token]).await?;
        ensure!(settled == u64::try_from(held.payloads.len())?, "a lease of raw SQL was lost");
        Ok(())
    }
}
