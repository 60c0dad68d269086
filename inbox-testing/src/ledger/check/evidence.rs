use std::collections::{BTreeMap, HashSet};

use inbox_core::Timestamp;
use inbox_core::message::MessageId;
use inbox_core::store::{DeliveryRecord, DeliveryState};

use super::super::run::{Run, runs};
use super::super::{Entry, Expectations, History, Summary};

/// All that is known, sorted for asking.
pub(super) struct Evidence<'a> {
    pub(super) accepted: Vec<Acceptance<'a>>,
    /// Those of each delivery, ordered by their start.
    pub(super) runs: BTreeMap<(MessageId, &'a str), Vec<Run<'a>>>,
    pub(super) stored: &'a [DeliveryRecord],
    pub(super) expectations: &'a Expectations,
    torn_lines: usize,
}

pub(super) struct Acceptance<'a> {
    pub(super) message_id: MessageId,
    pub(super) contract: &'a str,
    pub(super) ordering_key: Option<&'a str>,
    pub(super) at: Timestamp,
}

impl<'a> Evidence<'a> {
    pub(super) fn new(
        history: &'a History,
        stored: &'a [DeliveryRecord],
        expectations: &'a Expectations,
    ) -> Self {
        let accepted = history.entries().iter().filter_map(acceptance).collect();
        let mut by_delivery: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for run in runs(history.entries()) {
            by_delivery.entry((run.message_id, run.handler_key)).or_default().push(run);
        }
        let torn_lines = history.torn().len();
        Self { accepted, runs: by_delivery, stored, expectations, torn_lines }
    }

    /// The runs of a delivery, ordered by their start.
    pub(super) fn runs_of(&self, delivery: &'a DeliveryRecord) -> &[Run<'a>] {
        let handler_key = delivery.handler_key.as_deref();
        let runs = handler_key.and_then(|key| self.runs.get(&(delivery.message_id, key)));
        runs.map_or(&[], Vec::as_slice)
    }

    pub(super) fn summary(&self) -> Summary {
        let runs = || self.runs.values().flatten();
        let attempts: HashSet<_> =
            runs().map(|run| (run.message_id, run.handler_key, run.lease.token)).collect();
        let stored = |is: fn(DeliveryState) -> bool| {
            self.stored.iter().filter(|delivery| is(delivery.state)).count()
        };
        Summary {
            accepted: self.accepted.len(),
            attempts: attempts.len(),
            runs: runs().count(),
            unfinished: runs().filter(|run| run.end.is_none()).count(),
            lost_leases: runs().filter(|run| run.lost_its_lease()).count(),
            late_starts: runs().filter(|run| !run.started_in_time()).count(),
            completed: stored(|state| state == DeliveryState::Completed),
            dead: stored(|state| state == DeliveryState::Dead),
            pending: stored(|state| !state.is_terminal()),
            torn_lines: self.torn_lines,
        }
    }
}

fn acceptance(entry: &Entry) -> Option<Acceptance<'_>> {
    match entry {
        Entry::Accepted { message_id, contract, ordering_key, at } => Some(Acceptance {
            message_id: *message_id,
            contract,
            ordering_key: ordering_key.as_deref(),
            at: *at,
        }),
        Entry::Started { .. } | Entry::Finished { .. } => None,
    }
}
