use std::time::Duration;

use inbox_core::store::{
    DeadDelivery, HostRecord, KnownRoute, OrphanTerms, RouteRecord, Served, StoreError,
    StoreErrorKind,
};

use super::HOLD;
use super::bench::{Bench, must};

/// How long a host of the cases counts as alive.
pub(crate) const ALIVE: Duration = HOLD;

pub(crate) fn served(handler_key: &str) -> Served {
    Served { handler_key: handler_key.to_owned(), versions: vec![1] }
}

impl Bench {
    /// Its host says that it is there and serves these keys.
    pub(crate) async fn announce(&self, keys: &[&str]) {
        let serves = keys.iter().map(|key| served(key)).collect();
        must("announce", self.store.announce(&self.host, serves, self.at()).await);
    }

    pub(crate) async fn leave(&self) {
        must("leave", self.store.leave(&self.host).await);
    }

    pub(crate) async fn hosts(&self) -> Vec<HostRecord> {
        must("hosts", self.store.hosts().await)
    }

    pub(crate) async fn routes(&self) -> Vec<RouteRecord> {
        must("routes", self.store.routes(ALIVE, self.at()).await)
    }

    pub(crate) async fn route_record(&self, handler_key: &str) -> RouteRecord {
        let mut routes = self.routes().await;
        routes.retain(|route| route.handler_key == handler_key);
        assert_eq!(routes.len(), 1, "`{handler_key}` has one route: {routes:?}");
        routes.remove(0)
    }

    pub(crate) async fn retire(&self, contract: &str, handler_key: &str) -> Vec<KnownRoute> {
        must("retire", self.store.retire(contract, handler_key, self.at()).await)
    }

    pub(crate) async fn restore(&self, contract: &str, handler_key: &str) -> Vec<KnownRoute> {
        must("restore", self.store.restore(contract, handler_key, self.at()).await)
    }

    /// Gives up orphans whose grace, `grace` long, is over, and answers how many those were.
    pub(crate) async fn give_up(&self, grace: Duration, limit: u32) -> u64 {
        self.given_up(grace, limit).await.len() as u64
    }

    /// The same, and answers which.
    pub(crate) async fn given_up(&self, grace: Duration, limit: u32) -> Vec<DeadDelivery> {
        let terms = OrphanTerms { grace, alive_for: ALIVE };
        must("give_up_orphans", self.store.give_up_orphans(terms, limit, self.at()).await)
    }
}

/// The error of a call that is to be refused.
pub(crate) fn refused<T: std::fmt::Debug>(
    answer: Result<T, StoreError>,
    kind: StoreErrorKind,
) -> String {
    let error = match answer {
        Ok(answer) => panic!("it was not refused: {answer:?}"),
        Err(error) => error,
    };
    assert_eq!(error.kind(), kind, "{error}");
    error.to_string()
}
