use inbox_core::Timestamp;
use inbox_core::store::{KnownRoute, OnDead, Route, Routing, StoreError};
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
    routes.iter().try_for_each(|route| go_on(connection, route))?;
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
        if let Some(refusal) = key_taken(connection, contract, handler_key)? {
            return Ok(Some(refusal));
        }
    }
    Ok(None)
}

/// Why a key cannot take a contract: it takes another one.
fn key_taken(
    connection: &Connection,
    contract: &str,
    handler_key: &str,
) -> Result<Option<StoreError>> {
    let mut select = connection.prepare_cached(sql!("route_taken"))?;
    let taken_by: Option<String> =
        select.query_row([handler_key, contract], |row| row.get(0)).optional()?;
    Ok(taken_by.map(|taken_by| StoreError::key_taken(handler_key, contract, &taken_by)))
}

fn register_one(connection: &Connection, route: &Route, now: Timestamp) -> Result<()> {
    let Route { contract, handler_key, supersedes, context, on_dead } = route;
    let blocks = *on_dead == OnDead::Block;
    for old in supersedes {
        let mut supersede = connection.prepare_cached(sql!("route_supersede"))?;
        supersede.execute(params![contract, old, handler_key, context, now.as_micros(), blocks])?;
    }
    let mut register = connection.prepare_cached(sql!("route_register"))?;
    register.execute(params![contract, handler_key, context, now.as_micros(), blocks])?;
    let supersedes = serde_json::Value::from(supersedes.clone()).to_string();
    let mut restore = connection.prepare_cached(sql!("route_restore"))?;
    restore.execute(params![contract, handler_key, supersedes])?;
    Ok(())
}

/// A new key goes on where the first that it supersedes is.
fn go_on(connection: &Connection, route: &Route) -> Result<()> {
    let Route { contract, handler_key, supersedes, .. } = route;
    let mut first = connection.prepare_cached(sql!("route_first"))?;
    first.execute(params![contract, handler_key, supersedes.first()])?;
    for old in supersedes {
        first.execute(params![contract, old, None::<&str>])?;
    }
    Ok(())
}

fn known(connection: &Connection, routes: &[Route]) -> Result<Vec<KnownRoute>> {
    known_of(connection, routes.iter().map(|route| route.contract.as_str()).collect())
}

fn known_of(connection: &Connection, contracts: Vec<&str>) -> Result<Vec<KnownRoute>> {
    let mut select = connection.prepare_cached(sql!("routes"))?;
    let known = select.query_map([serde_json::Value::from(contracts).to_string()], |row| {
        let (contract, handler_key) = (row.get(0)?, row.get(1)?);
        Ok(KnownRoute { contract, handler_key, superseded_by: row.get(2)?, retired: row.get(3)? })
    })?;
    known.collect()
}

/// What an operator does to one route: retires it or restores it.
pub(crate) fn change(
    connection: &Connection,
    contract: &str,
    handler_key: &str,
    restores: bool,
) -> Result<std::result::Result<Vec<KnownRoute>, StoreError>> {
    let before = known_of(connection, vec![contract])?;
    let mut routing = Routing::new(contract, before.clone());
    let changed = match restores {
        true => routing.restore(handler_key),
        false => routing.retire(handler_key),
    };
    if let Err(refusal) = changed {
        return Ok(Err(refusal));
    }
    if let (true, Some(refusal)) = (restores, key_taken(connection, contract, handler_key)?) {
        return Ok(Err(refusal));
    }
    let after = routing.into_routes();
    for route in after.iter().filter(|route| !before.contains(route)) {
        let KnownRoute { contract, handler_key, superseded_by, retired } = route;
        let mut change = connection.prepare_cached(sql!("route_change"))?;
        change.execute(params![contract, handler_key, superseded_by, retired])?;
    }
    Ok(Ok(after))
}
