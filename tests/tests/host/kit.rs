//! What these tests share: one command whose handler does what the test says.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inbox::hosting::{Health, InboxBuilder};
use inbox::sqlite::SqliteStore;
use inbox::store::{DeliveryState, Inspect, Store};
use inbox::{
    Context, Inbox, MessageId, ScheduleOptions, Scheduler, State, handler, inbox_contract,
};
use inbox_tests::faulty::{FaultyStore, RuntimeClock};
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, mpsc, watch};

/// Longer than anything here takes, however busy the machine is: only what hangs takes longer.
pub(crate) const PATIENCE: Duration = Duration::from_mins(10);

#[inbox_contract(name = "host.task", version = 1)]
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) number: u64,
    pub(crate) what: What,
}

/// What the handler does with a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum What {
    /// Succeeds at once.
    Pass,
    /// Waits for a permit of the gate.
    Wait,
    /// Waits for a permit or until it is asked to stop, which is then an error.
    WaitOrStop,
    /// Blocks its thread until the gate is opened.
    Block,
    /// Fails.
    Fail,
    /// Panics.
    Panic,
    /// Leaves a task behind that never ends.
    Leak,
}

/// What a test sees of the handlers, and holds them by.
#[derive(Clone)]
pub(crate) struct Gate(Arc<Inner>);

struct Inner {
    /// How often each task began and ended.
    seen: watch::Sender<Seen>,
    permits: Semaphore,
    /// Numbers that handlers tell.
    told: (mpsc::UnboundedSender<usize>, tokio::sync::Mutex<mpsc::UnboundedReceiver<usize>>),
    open: (Mutex<bool>, std::sync::Condvar),
}

#[derive(Clone, Default)]
pub(crate) struct Seen {
    pub(crate) began: BTreeMap<u64, u32>,
    pub(crate) ended: BTreeMap<u64, u32>,
    pub(crate) running: usize,
    pub(crate) most: usize,
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (began, ended) = (self.began.len(), self.ended.len());
        let again: Vec<_> = self.began.iter().filter(|(_, times)| **times > 1).take(5).collect();
        let (running, most) = (self.running, self.most);
        write!(
            f,
            "{began} began, {ended} ended, {running} running (at most {most}), again: {again:?}"
        )
    }
}

impl Default for Gate {
    fn default() -> Self {
        let (tell, told) = mpsc::unbounded_channel();
        Self(Arc::new(Inner {
            told: (tell, tokio::sync::Mutex::new(told)),
            seen: watch::Sender::default(),
            permits: Semaphore::new(0),
            open: Default::default(),
        }))
    }
}

impl Gate {
    pub(crate) fn seen(&self) -> Seen {
        self.0.seen.borrow().clone()
    }

    /// Waits until what was seen is as a test expects it.
    pub(crate) async fn until(&self, expected: impl FnMut(&Seen) -> bool) -> Seen {
        let mut seen = self.0.seen.subscribe();
        let waiting = seen.wait_for(expected);
        let seen = tokio::time::timeout(PATIENCE, waiting).await.map(|seen| seen.unwrap().clone());
        seen.unwrap_or_else(|_| panic!("it never came to that: {:?}", self.seen()))
    }

    /// Waits until so many tasks have ended.
    pub(crate) async fn ended(&self, tasks: usize) -> Seen {
        self.until(|seen| seen.ended.len() >= tasks).await
    }

    /// Waits until so many have begun.
    pub(crate) async fn began(&self, tasks: usize) -> Seen {
        self.until(|seen| seen.began.len() >= tasks).await
    }

    /// Tells a test a number.
    pub(crate) fn tell(&self, number: usize) {
        self.0.told.0.send(number).unwrap();
    }

    /// The next number that a handler tells.
    pub(crate) async fn told(&self) -> usize {
        let mut told = self.0.told.1.lock().await;
        tokio::time::timeout(PATIENCE, told.recv()).await.unwrap().unwrap()
    }

    /// Lets so many that wait go on.
    pub(crate) fn permit(&self, tasks: usize) {
        self.0.permits.add_permits(tasks);
    }

    /// Takes back what nobody has used of it.
    pub(crate) fn permit_no_more(&self) {
        self.0.permits.forget_permits(usize::MAX);
    }

    /// Lets those go on that block their thread.
    pub(crate) fn unblock(&self) {
        *self.0.open.0.lock().unwrap() = true;
        self.0.open.1.notify_all();
    }

    pub(crate) async fn run(&self, task: &Task, context: &Context) -> Result<(), String> {
        let _running = self.begin(task.number);
        match task.what {
            What::Pass => {}
            What::Wait => self.0.permits.acquire().await.unwrap().forget(),
            What::WaitOrStop => tokio::select! {
                permit = self.0.permits.acquire() => permit.unwrap().forget(),
                () = context.cancellation().cancelled() => return Err("was stopped".to_owned()),
            },
            What::Block => {
                let (open, changed) = &self.0.open;
                let open = open.lock().unwrap();
                drop(changed.wait_while(open, |open| !*open).unwrap());
            }
            What::Fail => return Err("fails".to_owned()),
            What::Panic => panic!("as the test wants it"),
            What::Leak => drop(tokio::spawn(std::future::pending::<()>())),
        }
        Ok(())
    }

    fn begin(&self, number: u64) -> Running<'_> {
        self.0.seen.send_modify(|seen| {
            *seen.began.entry(number).or_default() += 1;
            seen.running += 1;
            seen.most = seen.most.max(seen.running);
        });
        Running { gate: self, number }
    }
}

struct Running<'a> {
    gate: &'a Gate,
    number: u64,
}

// Cut off in the middle, it has ended too.
impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.gate.0.seen.send_modify(|seen| {
            *seen.ended.entry(self.number).or_default() += 1;
            seen.running -= 1;
        });
    }
}

#[handler(key = "work", retry(initial = "20ms"))]
async fn work(task: Task, State(gate): State<Gate>, context: Context) -> Result<(), String> {
    gate.run(&task, &context).await
}

/// An inbox of these tests; only the handlers of this file are in it.
pub(crate) fn builder<S: Store>(store: S, gate: &Gate) -> InboxBuilder<S> {
    Inbox::builder(store).state(gate.clone())
}

pub(crate) async fn in_memory(gate: &Gate) -> Inbox<SqliteStore> {
    let store = inbox::sqlite::in_memory().await.unwrap();
    builder(store, gate).build().await.unwrap()
}

/// Schedules tasks with these numbers.
pub(crate) async fn schedule<S: Store>(
    scheduler: &Scheduler<S>,
    numbers: impl IntoIterator<Item = u64> + Send,
    what: What,
) -> Vec<MessageId> {
    let tasks = numbers.into_iter().map(|number| (Task { number, what }, ScheduleOptions::new()));
    let tasks: Vec<_> = tasks.collect();
    let receipts = scheduler.schedule_all(tasks).await.unwrap();
    receipts.into_iter().map(|receipt| receipt.unwrap().message_id()).collect()
}

/// Waits until every delivery is in this state, and answers how many there are.
pub(crate) async fn all_are(store: &dyn Inspect, state: DeliveryState) -> u64 {
    let begun = std::time::Instant::now();
    loop {
        let counts = store.counts().await.unwrap();
        if counts.iter().all(|count| count.state == state) {
            return counts.iter().map(|count| count.count).sum();
        }
        assert!(begun.elapsed() < PATIENCE, "{counts:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until the host is as a test expects it.
pub(crate) async fn health_is<S: Store>(
    inbox: &Inbox<S>,
    mut expected: impl FnMut(&Health) -> bool,
) -> Health {
    let begun = std::time::Instant::now();
    loop {
        let health = inbox.control().health();
        if expected(&health) {
            return health;
        }
        assert!(begun.elapsed() < PATIENCE, "{health}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// An inbox by the runtime's clock, on a store that has troubles when a test says so.
pub(crate) async fn faulty_builder(gate: &Gate) -> (InboxBuilder<FaultyStore>, FaultyStore) {
    let store = FaultyStore::new().await.unwrap();
    (builder(store.clone(), gate).clock(RuntimeClock::start()).renew_in_place(), store)
}

/// The same, built.
pub(crate) async fn faulty(gate: &Gate) -> (Inbox<FaultyStore>, FaultyStore) {
    let (inbox, store) = faulty_builder(gate).await;
    (inbox.build().await.unwrap(), store)
}
