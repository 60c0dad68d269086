use inbox_core::Now;
use inbox_core::policy::OnDead;
use inbox_core::store::{KnownRoute, Route, Routing, StoreError};
use tokio_postgres::{Row, Transaction};

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
        self.lock_routes(&transaction).await?;
        let client = Client::Theirs(&transaction);
        if let Some(foreign) = self.foreign(client, routes).await? {
            return Err(foreign);
        }
        let contracts: Vec<_> = routes.iter().map(|route| route.contract.as_str()).collect();
        let keys: Vec<_> = routes.iter().map(|route| route.handler_key.as_str()).collect();
        let text = |sql| self.text(sql);
        self.refuse_taken(client, &contracts, &keys).await?;
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
        let blocks = |route: &Route| route.on_dead == OnDead::Block;
        let old_block: Vec<_> = superseded().map(|(route, _)| blocks(route)).collect();
        let block: Vec<_> = routes.iter().map(blocks).collect();
        for (contracts, keys, by, blocks) in [
            (&given, &all_keys, &by, &old_block),
            (&contracts, &keys, &vec![None; keys.len()], &block),
        ] {
            let parameters: Parameters<'_> = &[contracts, keys, by, &moment(now), &context, blocks];
            client.query(text(Sql::route_register), parameters).await?;
        }
        let own: Vec<_> = superseded().map(|(route, _)| route.handler_key.as_str()).collect();
        client.query(text(Sql::route_restore), &[&given, &own, &all_keys]).await?;
        client.query(text(Sql::route_first), &[&given, &own, &all_keys]).await?;
        let rows = client.query(text(Sql::routes), &[&contracts]).await?;
        transaction.commit().await.map_err(translate)?;
        working.done();
        known(&rows)
    }

    /// What an operator does to one route: retires it or restores it.
    pub(crate) async fn change_route(
        &self,
        contract: &str,
        handler_key: &str,
        restores: bool,
    ) -> Result<Vec<KnownRoute>, StoreError> {
        let mut working = self.connection().await?;
        let transaction = begin(working.get()?, self.inner().owner).await?;
        self.lock_routes(&transaction).await?;
        let client = Client::Theirs(&transaction);
        let before = known(&client.query(self.text(Sql::routes), &[&vec![contract]]).await?)?;
        let mut routing = Routing::new(contract, before.clone());
        match restores {
            true => {
                routing.restore(handler_key)?;
                self.refuse_taken(client, &[contract], &[handler_key]).await?;
            }
            false => routing.retire(handler_key)?,
        }
        let after = routing.into_routes();
        let changed: Vec<_> = after.iter().filter(|route| !before.contains(route)).collect();
        let keys: Vec<_> = changed.iter().map(|route| route.handler_key.as_str()).collect();
        let by: Vec<_> = changed.iter().map(|route| route.superseded_by.as_deref()).collect();
        let retired: Vec<_> = changed.iter().map(|route| route.retired).collect();
        let parameters: Parameters<'_> = &[&contract, &keys, &by, &retired];
        client.query(self.text(Sql::route_change), parameters).await?;
        transaction.commit().await.map_err(translate)?;
        working.done();
        Ok(after)
    }

    /// One after the other; those who accept go on.
    async fn lock_routes(&self, transaction: &Transaction<'_>) -> Result<(), StoreError> {
        let lock =
            format!("LOCK TABLE {}.route IN SHARE ROW EXCLUSIVE MODE", self.inner().schema.quoted);
        transaction.batch_execute(&lock).await.map_err(translate)
    }

    /// A key that takes another contract is refused.
    async fn refuse_taken(
        &self,
        client: Client<'_>,
        contracts: &[&str],
        keys: &[&str],
    ) -> Result<(), StoreError> {
        let taken = client.query(self.text(Sql::route_taken), &[&contracts, &keys]).await?;
        let Some(row) = taken.first() else { return Ok(()) };
        let word = |at| column::<String>(row, at).map_err(damaged);
        Err(StoreError::key_taken(&word(0)?, &word(1)?, &word(2)?))
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

/// Reads the columns of `routes.sql`.
fn known(rows: &[Row]) -> Result<Vec<KnownRoute>, StoreError> {
    let known = rows.iter().map(|row| {
        Ok(KnownRoute {
            contract: column(row, 0)?,
            handler_key: column(row, 1)?,
            superseded_by: column(row, 2)?,
            retired: column(row, 3)?,
        })
    });
    known.collect::<Result<_, String>>().map_err(damaged)
}
