use inbox_core::Timestamp;
use inbox_core::store::{KnownRoute, Route, StoreError};
use rusqlite::{Connection, OptionalExtension as _, Result, params};

use crate::sql::sql;

/// Registers all of them or, if one cannot be, none.
pub(crate) fn register(
    connection: &Connection,
    routes: &[Route],
    now: Timestamp,
) -> Result<std::result::Result<Vec<KnownRoute>, StoreError>> {
    if let Some(refusal) = foreign(connection, routes)?.or(taken(connection, routes)?) {
        return Ok(Err(refusal));
    }
    routes.iter().try_for_each(|route| register_one(connection, route, now))?;
    known(connection, routes).map(Ok)
}

/// A route of another context, be it stored or among these.
fn foreign(connection: &Connection, routes: &[Route]) -> Result<Option<StoreError>> {
    let Some(Route { context, .. }) = routes.first() else { return Ok(None) };
    let mut select = connection.prepare_cached(sql!("route_foreign"))?;
    let there = select.query_row([context], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let given = routes.iter().find(|route| route.context != *context);
    let given = given.map(|route| (route.context.clone(), route.handler_key.clone()));
    let foreign = there.or(given);
    Ok(foreign.map(|(other, key)| StoreError::context_taken(context, &other, &key)))
}

/// The first key that takes another contract.
fn taken(connection: &Connection, routes: &[Route]) -> Result<Option<StoreError>> {
    for Route { contract, handler_key, .. } in routes {
        let mut select = connection.prepare_cached(sql!("route_taken"))?;
        let taken_by: Option<String> =
            select.query_row([handler_key, contract], |row| row.get(0)).optional()?;
        if let Some(taken_by) = taken_by {
            return Ok(Some(StoreError::key_taken(handler_key, contract, &taken_by)));
        }
    }
    Ok(None)
}

fn register_one(connection: &Connection, route: &Route, now: Timestamp) -> Result<()> {
    let Route { contract, handler_key, supersedes, context } = route;
    for old in supersedes {
        let mut supersede = connection.prepare_cached(sql!("route_supersede"))?;
        supersede.execute(params![contract, old, handler_key, context, now.as_micros()])?;
    }
    let mut register = connection.prepare_cached(sql!("route_register"))?;
    register.execute(params![contract, handler_key, context, now.as_micros()])?;
    let supersedes = serde_json::Value::from(supersedes.clone()).to_string();
    let mut restore = connection.prepare_cached(sql!("route_restore"))?;
    restore.execute(params![contract, handler_key, supersedes])?;
    Ok(())
}

fn known(connection: &Connection, routes: &[Route]) -> Result<Vec<KnownRoute>> {
    let contracts: Vec<_> = routes.iter().map(|route| route.contract.as_str()).collect();
    let mut select = connection.prepare_cached(sql!("routes"))?;
    let known = select.query_map([serde_json::Value::from(contracts).to_string()], |row| {
        let (contract, handler_key) = (row.get(0)?, row.get(1)?);
        Ok(KnownRoute { contract, handler_key, superseded_by: row.get(2)? })
    })?;
    known.collect()
}
