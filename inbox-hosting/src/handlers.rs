use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use inbox_core::dispatch::{Layers, Pipeline};
use inbox_core::outcome::RetryLimits;
use inbox_core::registry::Registry;
use inbox_core::store::{HandlerTransactions, KnownRoute, Route, Runs, Terms, Wanted};

/// The handlers of one host, each with all that stands around it.
#[derive(Debug)]
pub(crate) struct Handlers {
    all: Vec<Arc<Pipeline>>,
    // By every key they answer to, legacy ones included.
    by_key: BTreeMap<&'static str, Arc<Pipeline>>,
}

impl Handlers {
    pub(crate) fn new(
        registry: &Registry,
        layers: &Layers,
        transactions: Option<&Arc<dyn HandlerTransactions>>,
        defaults: &RetryLimits,
    ) -> Self {
        let all: Vec<_> = registry
            .handlers()
            .iter()
            .map(|handler| Arc::new(Pipeline::new(handler, layers, transactions, defaults)))
            .collect();
        let by_key = all
            .iter()
            .flat_map(|handler| {
                handler.descriptor().keys().map(move |key| (key, Arc::clone(handler)))
            })
            .collect();
        Self { all, by_key }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Arc<Pipeline>> {
        self.by_key.get(key)
    }

    /// Every key that they answer to.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.by_key.keys().copied()
    }

    /// Those that take messages of `version` of `contract`.
    pub(crate) fn of(&self, contract: &str, version: u32) -> impl Iterator<Item = &Arc<Pipeline>> {
        self.all.iter().filter(move |handler| {
            let takes = handler.descriptor().contract;
            takes.name == contract && takes.lineage.reads(version)
        })
    }

    /// What the store must know, so that messages reach them.
    pub(crate) fn routes(&self) -> Vec<Route> {
        let route = |handler: &Arc<Pipeline>| {
            let descriptor = handler.descriptor();
            Route {
                contract: descriptor.contract.name.to_owned(),
                handler_key: descriptor.key.to_owned(),
                supersedes: descriptor.legacy.iter().map(|key| (*key).to_owned()).collect(),
                context: descriptor.context.unwrap_or_default().to_owned(),
                on_dead: terms(handler).on_dead,
            }
        };
        self.all.iter().map(route).collect()
    }

    /// Those that a host serves, all or `only` some, each with how its keys are asked for: nothing that
    /// this program does not know.
    pub(crate) fn served(
        &self,
        only: Option<&[String]>,
        limit: NonZeroU32,
    ) -> impl Iterator<Item = (&Arc<Pipeline>, Vec<Wanted>)> {
        let is_served = move |handler: &&Arc<Pipeline>| {
            let has = |key: &str| only.is_none_or(|only| only.iter().any(|one| one == key));
            handler.descriptor().keys().any(has)
        };
        let asked = move |handler: &Arc<Pipeline>| {
            let wanted = |key: &str| Wanted {
                handler_key: key.to_owned(),
                versions: handler.descriptor().contract.lineage.versions().collect(),
                limit,
                max_crashes: handler.limits().max_crashes,
                terms: terms(handler),
            };
            handler.descriptor().keys().map(wanted).collect()
        };
        self.all.iter().filter(is_served).map(move |handler| (handler, asked(handler)))
    }

    /// Says what the store knows and this program might not expect.
    pub(crate) fn warn_about(&self, known: &[KnownRoute]) {
        for KnownRoute { contract, handler_key, superseded_by, retired } in known {
            match (self.get(handler_key), superseded_by) {
                (Some(handler), _) if *retired && handler.descriptor().key == handler_key => {
                    tracing::warn!(
                        contract,
                        handler_key,
                        superseded_by,
                        "this handler is given nothing new: an operator retired its key, and \
                         `inbox.restore(contract, handler_key)` undoes that"
                    );
                }
                (Some(handler), Some(by)) if handler.descriptor().key == handler_key => {
                    tracing::warn!(
                        contract,
                        handler_key,
                        superseded_by = by,
                        "this handler is given nothing new: a newer program has renamed it"
                    );
                }
                (None, None) if !retired => tracing::info!(
                    contract,
                    handler_key,
                    "another program handles this contract too; if it was this one, under another \
                     key, write that key in `legacy`, or what is new is delivered to both"
                ),
                _ => {}
            }
        }
    }
}

/// How the deliveries of a handler stand to each other.
fn terms(handler: &Pipeline) -> Terms {
    let options = &handler.descriptor().options;
    Terms {
        on_dead: options.on_dead,
        fleet: options.concurrency.fleet,
        per_key: options.concurrency.per_key,
        runs: Runs::default(),
    }
}
