use inbox::store::{KnownRoute, OnDead, Route, Routing, StoreError};

use crate::table::Table;

impl Table {
    /// Why routes cannot be registered: they would stand beside those of another context.
    pub(crate) fn foreign(&self, routes: &[Route]) -> Option<StoreError> {
        let context = &routes.first()?.context;
        let there = self.routes.keys().map(|(_, key)| (&self.context, key));
        let given = routes.iter().map(|route| (&route.context, &route.handler_key));
        let (other, key) = there.chain(given).find(|(other, _)| *other != context)?;
        Some(StoreError::context_taken(context, other, key))
    }

    /// Why a route cannot be registered: its key takes another contract.
    pub(crate) fn taken(&self, route: &Route) -> Option<StoreError> {
        self.key_taken(&route.contract, &route.handler_key)
    }

    fn key_taken(&self, contract: &str, handler_key: &str) -> Option<StoreError> {
        let other = self.routes.values().find(|route| {
            route.handler_key == handler_key && route.contract != contract && route.takes_new()
        })?;
        Some(StoreError::key_taken(handler_key, contract, &other.contract))
    }

    pub(crate) fn register(&mut self, route: &Route) {
        let Route { contract, handler_key, supersedes, context, on_dead } = route;
        self.context.clone_from(context);
        for key in supersedes.iter().chain([handler_key]) {
            match on_dead {
                OnDead::Skip => _ = self.passing.insert(key.clone()),
                OnDead::Block => _ = self.passing.remove(key),
            }
        }
        // A new key goes on where the first that it supersedes is; one that was in use stays where it was.
        let before = supersedes.first().map_or(handler_key, |old| old);
        let first_key = self.first_key(before);
        self.first_keys.entry(handler_key.clone()).or_insert(first_key);
        for old in supersedes {
            self.first_keys.entry(old.clone()).or_insert_with(|| old.clone());
        }
        let own = self.entry(contract, handler_key);
        if own.retired {
            // An operator closed it, and only an operator opens it: it takes nobody's place.
            return;
        }
        // A superseded key stays so, unless it supersedes its successor in turn.
        own.superseded_by.take_if(|by| supersedes.contains(by));
        for old in supersedes {
            self.entry(contract, old).superseded_by = Some(handler_key.clone());
        }
    }

    fn entry(&mut self, contract: &str, handler_key: &str) -> &mut KnownRoute {
        let name = (contract.to_owned(), handler_key.to_owned());
        self.routes.entry(name).or_insert_with(|| KnownRoute {
            contract: contract.to_owned(),
            handler_key: handler_key.to_owned(),
            superseded_by: None,
            retired: false,
        })
    }

    pub(crate) fn retire(
        &mut self,
        contract: &str,
        handler_key: &str,
    ) -> Result<Vec<KnownRoute>, StoreError> {
        let mut routing = Routing::new(contract, self.known_of(|name| name == contract));
        routing.retire(handler_key)?;
        Ok(self.rerouted(routing))
    }

    pub(crate) fn restore(
        &mut self,
        contract: &str,
        handler_key: &str,
    ) -> Result<Vec<KnownRoute>, StoreError> {
        let mut routing = Routing::new(contract, self.known_of(|name| name == contract));
        routing.restore(handler_key)?;
        if let Some(refusal) = self.key_taken(contract, handler_key) {
            return Err(refusal);
        }
        Ok(self.rerouted(routing))
    }

    fn rerouted(&mut self, routing: Routing) -> Vec<KnownRoute> {
        let routes = routing.into_routes();
        for route in &routes {
            let name = (route.contract.clone(), route.handler_key.clone());
            self.routes.insert(name, route.clone());
        }
        routes
    }

    /// Every route of the contracts that are named.
    pub(crate) fn known(&self, routes: &[Route]) -> Vec<KnownRoute> {
        self.known_of(|contract| routes.iter().any(|route| route.contract == contract))
    }

    fn known_of(&self, is_named: impl Fn(&str) -> bool) -> Vec<KnownRoute> {
        self.routes.values().filter(|route| is_named(&route.contract)).cloned().collect()
    }

    /// The handler keys that get what is accepted now.
    pub(crate) fn routes_of(&self, contract: &str) -> Vec<String> {
        let of = self.routes.values().filter(|route| route.contract == contract);
        of.filter(|route| route.takes_new()).map(|route| route.handler_key.clone()).collect()
    }
}
