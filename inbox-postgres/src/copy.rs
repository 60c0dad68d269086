use std::collections::{BTreeSet, HashMap, HashSet};
use std::pin::pin;

use deadpool_postgres::Transaction;
use inbox_core::Timestamp;
use inbox_core::message::{Envelope, Message};
use inbox_core::store::StoreError;
use tokio_postgres::Row;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};

use crate::PostgresStore;
use crate::client::Client;
use crate::error::translate;
use crate::insert::version;
use crate::row::{column, headers_json, uuid};
use crate::schedule::damaged;
use crate::sql::Sql;
use crate::value::{JsonText, Moment};

type Value<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// Copies messages and their deliveries, all accepted at `now`.
pub(crate) struct Copy<'a> {
    pub(crate) store: &'a PostgresStore,
    pub(crate) transaction: &'a Transaction<'a>,
    pub(crate) now: Timestamp,
}

/// The columns of a message but for its key.
const MESSAGE: [Type; 12] = [
    Type::UUID,
    Type::TEXT,
    Type::TEXT,
    Type::INT4,
    Type::JSONB,
    Type::JSONB,
    Type::TEXT,
    Type::TEXT,
    Type::TEXT,
    Type::TEXT,
    Type::TIMESTAMPTZ,
    Type::TIMESTAMPTZ,
];

const READY: [Type; 7] =
    [Type::TEXT, Type::INT2, Type::INT4, Type::UUID, Type::TEXT, Type::TEXT, Type::TEXT];

const WAITING: [Type; 10] = [
    Type::UUID,
    Type::TEXT,
    Type::TEXT,
    Type::INT4,
    Type::INT2,
    Type::TIMESTAMPTZ,
    Type::TEXT,
    Type::TEXT,
    Type::TEXT,
    Type::TEXT,
];

impl Copy<'_> {
    pub(crate) async fn messages(&self, envelopes: &[&Envelope]) -> Result<(), StoreError> {
        let rows = envelopes.iter().map(|envelope| self.message(envelope));
        self.copy(Sql::bulk_message, &MESSAGE, rows.collect::<Result<_, _>>()?).await
    }

    fn message<'e>(
        &self,
        Envelope { message, .. }: &'e Envelope,
    ) -> Result<Vec<Value<'e>>, StoreError> {
        Ok(vec![
            Box::new(uuid(message.id)),
            Box::new(&message.tenant),
            Box::new(&message.contract),
            Box::new(version(message)?),
            Box::new(JsonText::from(&message.payload)),
            Box::new(headers_json(&message.headers)),
            Box::new(&message.ordering_key),
            Box::new(&message.concurrency_key),
            Box::new(&message.correlation_id),
            Box::new(&message.causation_id),
            Box::new(message.deliver_by.map(Moment)),
            Box::new(Moment(self.now)),
        ])
    }

    /// A delivery for each route, or one that waits for the first.
    pub(crate) async fn deliveries(&self, envelopes: &[&Envelope]) -> Result<(), StoreError> {
        let routes = self.routes(envelopes).await?;
        let unrouted = self.unrouted(envelopes).await?;
        let (mut ready, mut waiting) = (Vec::new(), Vec::new());
        for Envelope { message, priority, start, .. } in envelopes {
            let (id, version) = (uuid(message.id), version(message)?);
            let (level, due_at) = (i16::from(priority.level()), start.due_at(self.now));
            // Behind what waits for a route of its own: some of that may be of the same key.
            let waits = message.ordering_key.is_some() && unrouted.contains(&message.contract);
            let keys = routes.get(&message.contract).filter(|_| !waits);
            let keys = keys.map(Vec::as_slice).unwrap_or_default();
            let mut wait = |key, contract, reason| {
                let what: [Value<'_>; 4] =
                    [Box::new(id), Box::new(key), Box::new(contract), Box::new(version)];
                let until: [Value<'_>; 3] =
                    [Box::new(level), Box::new(Moment(due_at)), Box::new(reason)];
                waiting.push(what.into_iter().chain(until).chain(whose(message)).collect());
            };
            for key in keys.iter().map(String::as_str) {
                if due_at > self.now {
                    wait(key, "", "delay");
                    continue;
                }
                let what: [Value<'_>; 4] =
                    [Box::new(key), Box::new(level), Box::new(version), Box::new(id)];
                ready.push(what.into_iter().chain(whose(message)).collect());
            }
            if keys.is_empty() {
                wait("", &message.contract, "no-route");
            }
        }
        self.copy(Sql::bulk_ready, &READY, ready).await?;
        self.copy(Sql::bulk_waiting, &WAITING, waiting).await
    }

    /// Puts messages aside, numbered from `place` on. Answers the next number.
    pub(crate) async fn aside(
        &self,
        envelopes: &[&Envelope],
        place: i64,
    ) -> Result<i64, StoreError> {
        let types =
            [&MESSAGE[..], &[Type::TEXT, Type::INT8, Type::INT2, Type::TIMESTAMPTZ]].concat();
        let mut rows = Vec::with_capacity(envelopes.len());
        let mut next = place;
        for envelope in envelopes {
            let mut row = self.message(envelope)?;
            row.push(Box::new(&envelope.message.idempotency_key));
            row.push(Box::new(next));
            row.push(Box::new(i16::from(envelope.priority.level())));
            row.push(Box::new(Moment(envelope.start.due_at(self.now))));
            rows.push(row);
            next += 1;
        }
        self.copy(Sql::bulk_keyed, &types, rows).await?;
        Ok(next)
    }

    /// The contracts of which something with an ordering key waits for a route.
    async fn unrouted(&self, envelopes: &[&Envelope]) -> Result<HashSet<String>, StoreError> {
        let ordered = envelopes.iter().filter(|e| e.message.ordering_key.is_some());
        let contracts: BTreeSet<_> = ordered.map(|e| e.message.contract.as_str()).collect();
        if contracts.is_empty() {
            return Ok(HashSet::new());
        }
        let rows = self.ask(Sql::bulk_unrouted, contracts).await?;
        rows.iter().map(|row| column(row, 0)).collect::<Result<_, _>>().map_err(damaged)
    }

    /// What a statement answers about contracts.
    async fn ask(&self, sql: Sql, contracts: BTreeSet<&str>) -> Result<Vec<Row>, StoreError> {
        let contracts: Vec<_> = contracts.into_iter().collect();
        Client::Theirs(self.transaction).query(self.store.text(sql), &[&contracts]).await
    }

    /// The handler keys that are given what is new, by contract.
    async fn routes(
        &self,
        envelopes: &[&Envelope],
    ) -> Result<HashMap<String, Vec<String>>, StoreError> {
        let contracts = envelopes.iter().map(|e| e.message.contract.as_str()).collect();
        let rows = self.ask(Sql::routes, contracts).await?;
        let mut routes: HashMap<String, Vec<String>> = HashMap::new();
        for row in &rows {
            let superseded_by: Option<String> = column(row, 2).map_err(damaged)?;
            if superseded_by.is_none() {
                let contract = column(row, 0).map_err(damaged)?;
                routes.entry(contract).or_default().push(column(row, 1).map_err(damaged)?);
            }
        }
        Ok(routes)
    }

    async fn copy(
        &self,
        sql: Sql,
        types: &[Type],
        rows: Vec<Vec<Value<'_>>>,
    ) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        let sink = self.transaction.copy_in(self.store.text(sql)).await.map_err(translate)?;
        let mut writer = pin!(BinaryCopyInWriter::new(sink, types));
        for row in rows {
            let values = row.iter().map(|value| &**value as &(dyn ToSql + Sync));
            let values: Vec<_> = values.collect();
            writer.as_mut().write(&values).await.map_err(translate)?;
        }
        writer.finish().await.map_err(translate)?;
        Ok(())
    }
}

/// Whose it is, and what it shares with others.
fn whose(message: &Message) -> [Value<'_>; 3] {
    [Box::new(&message.tenant), Box::new(&message.ordering_key), Box::new(&message.concurrency_key)]
}
