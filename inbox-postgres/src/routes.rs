use inbox_core::Now;
use inbox_core::store::{KnownRoute, Route, StoreError};

use crate::PostgresStore;
use crate::client::{Client, begin};
use crate::error::translate;
use crate::row::column;
use crate::schedule::{damaged, moment};
use crate::sql::Sql;
use crate::store::Parameters;

impl PostgresStore {
    /// Registers all of them or, if one cannot be, none.
    pub(crate) async fn register(
        &self,
        routes: &[Route],
        now: Now,
    ) -> Result<Vec<KnownRoute>, StoreError> {
        let mut working = self.connection().await?;
        let transaction = begin(working.get()?, self.inner().owner).await?;
        let table =
            format!("LOCK TABLE {}.route IN SHARE ROW EXCLUSIVE MODE", self.inner().schema.quoted);
        transaction.batch_execute(&table).await.map_err(translate)?;
        let client = Client::Theirs(&transaction);
        if let Some(foreign) = self.foreign(client, routes).await? {
            return Err(foreign);
        }
        let contracts: Vec<_> = routes.iter().map(|route| route.contract.as_str()).collect();
        let keys: Vec<_> = routes.iter().map(|route| route.handler_key.as_str()).collect();
        let text = |sql| self.text(sql);
        let taken = client.query(text(Sql::route_taken), &[&contracts, &keys]).await?;
        if let Some(row) = taken.first() {
            let word = |at| column::<String>(row, at).map_err(damaged);
            return Err(StoreError::key_taken(&word(0)?, &word(1)?, &word(2)?));
        }
        let context = routes.first().map_or("", |route| route.context.as_str());
        let superseded =
            || routes.iter().flat_map(|route| route.supersedes.iter().map(move |old| (route, old)));
        // First those that give way, so that the order of the routes does not matter.
        let (mut given, mut all_keys, mut by): (Vec<&str>, Vec<&str>, Vec<Option<&str>>) =
            (Vec::new(), Vec::new(), Vec::new());
        for (route, old) in superseded() {
            given.push(&route.contract);
            all_keys.push(old);
            by.push(Some(&route.handler_key));
        }
        for parameters in [(&given, &all_keys, &by), (&contracts, &keys, &vec![None; keys.len()])] {
            let (contracts, keys, by) = parameters;
            let parameters: Parameters<'_> = &[contracts, keys, by, &moment(now), &context];
            client.query(text(Sql::route_register), parameters).await?;
        }
        let own: Vec<_> = superseded().map(|(route, _)| route.handler_key.as_str()).collect();
        client.query(text(Sql::route_restore), &[&given, &own, &all_keys]).await?;
        let rows = client.query(text(Sql::routes), &[&contracts]).await?;
        transaction.commit().await.map_err(translate)?;
        working.done();
        let known = rows.iter().map(|row| {
            let (contract, handler_key) = (column(row, 0)?, column(row, 1)?);
            Ok(KnownRoute { contract, handler_key, superseded_by: column(row, 2)? })
        });
        known.collect::<Result<_, String>>().map_err(damaged)
    }

    /// A route of another context, be it stored or among these.
    async fn foreign(
        &self,
        client: Client<'_>,
        routes: &[Route],
    ) -> Result<Option<StoreError>, StoreError> {
        let Some(Route { context, .. }) = routes.first() else { return Ok(None) };
        let select = self.text(Sql::route_foreign);
        if let Some(row) = client.query(select, &[context]).await?.first() {
            let word = |at| column::<String>(row, at).map_err(damaged);
            return Ok(Some(StoreError::context_taken(context, &word(0)?, &word(1)?)));
        }
        let given = routes.iter().find(|route| route.context != *context);
        let refused =
            |other: &Route| StoreError::context_taken(context, &other.context, &other.handler_key);
        Ok(given.map(refused))
    }
}
