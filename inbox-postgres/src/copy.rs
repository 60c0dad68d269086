use std::collections::{BTreeSet, HashMap};
use std::pin::pin;

use deadpool_postgres::Transaction;
use inbox_core::Timestamp;
use inbox_core::message::Envelope;
use inbox_core::store::StoreError;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};

use crate::PostgresStore;
use crate::bulk::due_at;
use crate::error::translate;
use crate::insert::version;
use crate::row::{column, headers_json, uuid};
use crate::schedule::damaged;
use crate::sql::Sql;
use crate::value::{Json, Moment};

type Value<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// Copies messages and their deliveries, all accepted at `now`.
pub(crate) struct Copy<'a> {
    pub(crate) store: &'a PostgresStore,
    pub(crate) transaction: &'a Transaction<'a>,
    pub(crate) now: Timestamp,
}

impl Copy<'_> {
    pub(crate) async fn messages(&self, envelopes: &[&Envelope]) -> Result<(), StoreError> {
        let types = [
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
        let rows = envelopes.iter().map(|envelope| {
            let message = &envelope.message;
            let values: Vec<Value<'_>> = vec![
                Box::new(uuid(message.id)),
                Box::new(&message.tenant),
                Box::new(&message.contract),
                Box::new(version(message)?),
                Box::new(Json::from(&message.payload)),
                Box::new(headers_json(&message.headers)),
                Box::new(&message.ordering_key),
                Box::new(&message.concurrency_key),
                Box::new(&message.correlation_id),
                Box::new(&message.causation_id),
                Box::new(message.deliver_by.map(Moment)),
                Box::new(Moment(self.now)),
            ];
            Ok(values)
        });
        self.copy(Sql::bulk_message, &types, rows.collect::<Result<_, StoreError>>()?).await
    }

    /// A delivery for each route, or one that waits for the first.
    pub(crate) async fn deliveries(&self, envelopes: &[&Envelope]) -> Result<(), StoreError> {
        let routes = self.routes(envelopes).await?;
        let (mut ready, mut waiting) = (Vec::new(), Vec::new());
        for envelope in envelopes {
            let Envelope { message, priority, start, .. } = envelope;
            let (id, version) = (uuid(message.id), version(message)?);
            let (level, due_at) = (i16::from(priority.level()), due_at(*start, self.now));
            let keys = routes.get(&message.contract).map(Vec::as_slice).unwrap_or_default();
            for key in keys {
                match due_at > self.now {
                    false => ready.push((key, level, version, id)),
                    true => waiting.push((id, key.as_str(), "", version, level, due_at, "delay")),
                }
            }
            if keys.is_empty() {
                let contract = message.contract.as_str();
                waiting.push((id, "", contract, version, level, due_at, "no-route"));
            }
        }
        let types = [Type::TEXT, Type::INT2, Type::INT4, Type::UUID];
        let rows = ready.iter().map(|(key, level, version, id)| {
            vec![Box::new(key) as Value<'_>, Box::new(level), Box::new(version), Box::new(id)]
        });
        self.copy(Sql::bulk_ready, &types, rows.collect()).await?;
        let types = [
            Type::UUID,
            Type::TEXT,
            Type::TEXT,
            Type::INT4,
            Type::INT2,
            Type::TIMESTAMPTZ,
            Type::TEXT,
        ];
        let rows = waiting.iter().map(|(id, key, contract, version, level, due_at, reason)| {
            let values: Vec<Value<'_>> = vec![
                Box::new(id),
                Box::new(key),
                Box::new(contract),
                Box::new(version),
                Box::new(level),
                Box::new(Moment(*due_at)),
                Box::new(reason),
            ];
            Ok(values)
        });
        self.copy(Sql::bulk_waiting, &types, rows.collect::<Result<_, StoreError>>()?).await
    }

    /// Puts messages aside, numbered from `place` on. Answers the next number.
    pub(crate) async fn aside(
        &self,
        envelopes: &[&Envelope],
        place: i64,
    ) -> Result<i64, StoreError> {
        let types = [
            Type::INT8,
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
            Type::TEXT,
            Type::TIMESTAMPTZ,
            Type::TIMESTAMPTZ,
            Type::INT2,
            Type::TIMESTAMPTZ,
        ];
        let mut next = place;
        let rows = envelopes.iter().map(|envelope| {
            let message = &envelope.message;
            let place = next;
            next += 1;
            let values: Vec<Value<'_>> = vec![
                Box::new(place),
                Box::new(uuid(message.id)),
                Box::new(&message.tenant),
                Box::new(&message.contract),
                Box::new(version(message)?),
                Box::new(Json::from(&message.payload)),
                Box::new(headers_json(&message.headers)),
                Box::new(&message.idempotency_key),
                Box::new(&message.ordering_key),
                Box::new(&message.concurrency_key),
                Box::new(&message.correlation_id),
                Box::new(&message.causation_id),
                Box::new(message.deliver_by.map(Moment)),
                Box::new(Moment(self.now)),
                Box::new(i16::from(envelope.priority.level())),
                Box::new(Moment(due_at(envelope.start, self.now))),
            ];
            Ok(values)
        });
        self.copy(Sql::bulk_keyed, &types, rows.collect::<Result<_, StoreError>>()?).await?;
        Ok(next)
    }

    /// The handler keys that are given what is new, by contract.
    async fn routes(
        &self,
        envelopes: &[&Envelope],
    ) -> Result<HashMap<String, Vec<String>>, StoreError> {
        let contracts: BTreeSet<_> =
            envelopes.iter().map(|e| e.message.contract.as_str()).collect();
        let contracts: Vec<_> = contracts.into_iter().collect();
        let rows = self.transaction.query(self.store.text(Sql::routes), &[&contracts]).await;
        let mut routes: HashMap<String, Vec<String>> = HashMap::new();
        for row in &rows.map_err(translate)? {
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
