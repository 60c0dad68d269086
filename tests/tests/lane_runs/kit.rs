use std::sync::Arc;
use std::time::Duration;

use inbox::hosting::{Health, InboxBuilder};
use inbox::store::DeliveryState;
use inbox::{Context, Inbox, MessageId, ScheduleOptions, State, handler, inbox_contract};
use inbox_tests::faulty::{FaultyStore, RuntimeClock, Write};
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, watch};

use crate::transactions::{Uncommitted, with_pages};

/// What the handler does with a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum What {
    Pass,
    /// Waits for a permit.
    Wait,
    Fail,
    Snooze,
    Panic,
}

#[inbox_contract(name = "step", version = 1)]
#[derive(Serialize, Deserialize)]
pub(crate) struct Step {
    pub(crate) number: usize,
    pub(crate) what: What,
}

/// The same, for the handler whose dead deliveries keep nobody.
#[inbox_contract(name = "step.passing", version = 1)]
#[derive(Serialize, Deserialize)]
pub(crate) struct PassingStep {
    pub(crate) number: usize,
    pub(crate) what: What,
}

/// What the handlers did, and what holds them.
#[derive(Clone, Debug)]
pub(crate) struct Script(Arc<(watch::Sender<Vec<usize>>, Semaphore)>);

impl Script {
    pub(crate) fn new() -> Self {
        Self(Arc::new((watch::Sender::default(), Semaphore::new(0))))
    }

    /// The steps that have begun, in their order.
    pub(crate) fn began(&self) -> Vec<usize> {
        self.0.0.borrow().clone()
    }

    /// Waits until so many have begun.
    pub(crate) async fn until_began(&self, steps: usize) {
        self.0.0.subscribe().wait_for(|began| began.len() >= steps).await.unwrap();
    }

    pub(crate) fn permit(&self, steps: usize) {
        self.0.1.add_permits(steps);
    }

    pub(crate) async fn run(&self, number: usize, what: What) -> inbox::Outcome {
        self.0.0.send_modify(|began| began.push(number));
        match what {
            What::Pass => inbox::Outcome::Completed,
            What::Wait => {
                self.0.1.acquire().await.unwrap().forget();
                inbox::Outcome::Completed
            }
            What::Fail => inbox::Outcome::failed("as the test wants it"),
            What::Snooze => inbox::Outcome::Snooze { after: HOUR },
            What::Panic => panic!("as the test wants it"),
        }
    }
}

pub(crate) const HOUR: Duration = Duration::from_hours(1);

#[handler(key = "step", retry(initial = "1h"))]
async fn step(step: Step, State(script): State<Script>, _: Context) -> inbox::Outcome {
    script.run(step.number, step.what).await
}

#[handler(key = "step.passing", max_attempts = 1, on_dead = skip)]
async fn passing(step: PassingStep, State(script): State<Script>) -> inbox::Outcome {
    script.run(step.number, step.what).await
}

/// A store that answers runs, and an inbox on it.
pub(crate) async fn inbox(script: &Script) -> (InboxBuilder<FaultyStore>, FaultyStore) {
    inbox_with(script, None).await
}

/// The same, where a transaction is not committed.
pub(crate) async fn inbox_with(
    script: &Script,
    uncommitted: Uncommitted,
) -> (InboxBuilder<FaultyStore>, FaultyStore) {
    let store = FaultyStore::new().await.unwrap().in_runs();
    let inbox = with_pages(store.clone(), uncommitted);
    let inbox = Inbox::builder(inbox).state(script.clone());
    (inbox.clock(RuntimeClock::start()).renew_in_place(), store)
}

/// Schedules one step after the other.
pub(crate) async fn schedule(inbox: &Inbox<FaultyStore>, whats: &[What]) -> Vec<MessageId> {
    let mut ids = Vec::new();
    for (number, what) in whats.iter().enumerate() {
        let step = Step { number, what: *what };
        let receipt = inbox.scheduler().schedule(step, ScheduleOptions::new()).await.unwrap();
        ids.push(receipt.message_id());
    }
    ids
}

/// Where the first settlement of each wanted it to be, after a check that these were sent in the order of
/// the run: none before all earlier ones were written, unless it was sent together with them.
pub(crate) fn in_order(store: &FaultyStore, ids: &[MessageId]) -> Vec<DeliveryState> {
    let (mut first, mut written) = (Vec::new(), Vec::new());
    for write in store.writes() {
        let sent = match write {
            Write::Sent(sent) => sent,
            Write::Written(ids) => {
                written.extend(ids);
                continue;
            }
        };
        let group: Vec<_> = sent.iter().map(|(id, _)| *id).collect();
        for (at, (id, state)) in sent.into_iter().enumerate() {
            if first.len() < ids.len() && id == ids[first.len()] {
                let earlier = &ids[..first.len()];
                let is_due = |one: &MessageId| written.contains(one) || group[..at].contains(one);
                assert!(earlier.iter().all(is_due), "{}: {:#?}", first.len(), store.writes());
                first.push(state);
            } else {
                let is_again = ids[..first.len()].contains(&id);
                assert!(is_again, "sent before {}: {:#?}", first.len(), store.writes());
            }
        }
    }
    first
}

/// Waits until the host is as a test expects it.
pub(crate) async fn health_is(inbox: &Inbox<FaultyStore>, expected: impl Fn(&Health) -> bool) {
    let begun = std::time::Instant::now();
    while !expected(&inbox.control().health()) {
        let patience = Duration::from_mins(2);
        assert!(begun.elapsed() < patience, "{}", inbox.control().health());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
