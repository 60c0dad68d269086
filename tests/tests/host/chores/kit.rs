//! The chores, and what each of them asks the store for.

use inbox::Inbox;
use inbox::hosting::{ChoreName, Health, HostHandle, HostLoop};
use inbox_tests::faulty::{Calls, FaultyStore, Verb};
use tokio::time::timeout;

use crate::kit::{Gate, PATIENCE, faulty, health_is};

/// Every verb of a chore, and the chore.
pub(super) const CHORES: [(Verb, ChoreName); 7] = [
    (Verb::Promote, ChoreName::PROMOTE),
    (Verb::NextDue, ChoreName::PROMOTE),
    (Verb::Announce, ChoreName::HEARTBEAT),
    (Verb::Reclaim, ChoreName::RECLAIM),
    (Verb::Route, ChoreName::ROUTE),
    (Verb::Mend, ChoreName::REPAIR),
    (Verb::GiveUpOrphans, ChoreName::ORPHANS),
];

/// The verbs of the other chores that run while this one is in trouble.
pub(super) fn others(failing: Verb) -> impl Iterator<Item = Verb> {
    let of = |verb| CHORES.into_iter().find(|(of, _)| *of == verb).map(|(_, chore)| chore);
    let runs = move |(verb, chore): &(Verb, ChoreName)| match (failing, verb) {
        // A host that cannot say that it lives does not judge who else does.
        (Verb::Announce, Verb::GiveUpOrphans) => false,
        _ => Some(*chore) != of(failing),
    };
    CHORES.into_iter().filter(runs).map(|(verb, _)| verb)
}

/// Waits until the calls of this verb are as a test expects them.
pub(super) async fn called(store: &FaultyStore, verb: Verb, expected: impl Fn(Calls) -> bool) {
    let waiting = timeout(PATIENCE, store.called(verb, expected)).await;
    assert!(waiting.is_ok(), "{verb:?} never came to that: {:?}", store.calls(verb));
}

/// Waits until the store has answered each of the other verbs twice more: one call may have been under way.
pub(super) async fn others_work(store: &FaultyStore, failing: Verb) {
    let known: Vec<_> = others(failing).map(|verb| (verb, store.calls(verb).answered)).collect();
    for (verb, known) in known {
        called(store, verb, |calls| calls.answered >= known + 2).await;
    }
}

pub(super) fn is_well(health: &Health) -> bool {
    health.is_ready() && health.problems().next().is_none()
}

/// Waits until health says this of the chore, and nothing of anything else.
pub(super) async fn only_this_is_ill(inbox: &Inbox<FaultyStore>, chore: ChoreName, error: &str) {
    let expected = HostLoop::Chore(chore);
    let says_so = |health: &Health| {
        let of = health.loops.iter().find(|one| one.name == expected).unwrap();
        of.error.as_ref().is_some_and(|known| known.contains(error))
    };
    let health = health_is(inbox, says_so).await;
    let ill = health.loops.iter().filter(|one| one.error.is_some());
    assert_eq!(ill.map(|one| one.name).collect::<Vec<_>>(), [expected], "{health}");
    assert!(!health.is_live() && !health.is_ready(), "{health}");
}

/// Starts a host whose chores have all worked.
pub(super) async fn started(gate: &Gate) -> (Inbox<FaultyStore>, FaultyStore, HostHandle) {
    let (inbox, store) = faulty(gate).await;
    let host = inbox.start().unwrap();
    health_is(&inbox, is_well).await;
    called(&store, Verb::GiveUpOrphans, |calls| calls.answered > 0).await;
    (inbox, store, host)
}
