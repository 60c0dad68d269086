use inbox::store::{KnownRoute, Route, StoreError};

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
        let mut others = self.routes.iter().filter(|((contract, key), superseded_by)| {
            *key == route.handler_key && *contract != route.contract && superseded_by.is_none()
        });
        let ((taken_by, key), _) = others.next()?;
        Some(StoreError::key_taken(key, &route.contract, taken_by))
    }

    pub(crate) fn register(&mut self, route: &Route) {
        let Route { contract, handler_key, supersedes, context } = route;
        self.context.clone_from(context);
        for old in supersedes {
            self.routes.insert((contract.clone(), old.clone()), Some(handler_key.clone()));
        }
        let own = self.routes.entry((contract.clone(), handler_key.clone())).or_default();
        // A superseded key stays so, unless it supersedes its successor in turn.
        own.take_if(|by| supersedes.contains(by));
    }

    /// Every route of the contracts that are named.
    pub(crate) fn known(&self, routes: &[Route]) -> Vec<KnownRoute> {
        let named = |contract: &String| routes.iter().any(|route| route.contract == *contract);
        let known = self.routes.iter().filter(|((contract, _), _)| named(contract));
        known
            .map(|((contract, handler_key), superseded_by)| KnownRoute {
                contract: contract.clone(),
                handler_key: handler_key.clone(),
                superseded_by: superseded_by.clone(),
            })
            .collect()
    }

    /// The handler keys that get what is accepted now.
    pub(crate) fn routes_of(&self, contract: &str) -> Vec<String> {
        let of = self.routes.iter().filter(|((name, _), by)| name == contract && by.is_none());
        of.map(|((_, key), _)| key.clone()).collect()
    }
}
