use inbox_core::store::StoreError;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::call::Call;
use crate::connection::Place;
use crate::error::translate;

/// Calls that are committed together: one wait for the disk serves them all.
const GROUP: usize = 128;

/// Calls that may wait for their turn before callers wait to add more.
const QUEUE: usize = 1_024;

pub(crate) type Calls = mpsc::Sender<Task>;

/// What the thread is told.
pub(crate) enum Task {
    /// To do something.
    Call(Box<dyn Call>),
    /// To do what has been asked for, close the connection, and say so.
    Close(oneshot::Sender<()>),
}

/// Starts a thread that alone uses the connection which `open` makes. It ends when it is told to, or
/// when the last sender is dropped.
pub(crate) fn start(
    name: &str,
    place: Place,
    open: impl FnOnce(&Place) -> Result<Connection, StoreError> + Send + 'static,
) -> std::io::Result<(Calls, oneshot::Receiver<Result<(), StoreError>>)> {
    let (calls, queue) = mpsc::channel(QUEUE);
    let (opened, is_open) = oneshot::channel();
    std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        match open(&place) {
            Ok(connection) => {
                // Whoever opened it may be gone; then the queue is closed too.
                let _ = opened.send(Ok(()));
                Thread { place, connection, queue, closing: Vec::new() }.serve();
            }
            Err(error) => drop(opened.send(Err(error))),
        }
    })?;
    Ok((calls, is_open))
}

struct Thread {
    place: Place,
    connection: Connection,
    queue: mpsc::Receiver<Task>,
    closing: Vec<oneshot::Sender<()>>,
}

impl Thread {
    fn serve(mut self) {
        let mut read = None;
        loop {
            if let Some(call) = read.take() {
                self.transact("BEGIN", vec![call]);
            }
            let Some(task) = self.queue.blocking_recv() else { break };
            let mut group = Vec::new();
            read = self.sort(task, &mut group);
            while read.is_none() && group.len() < GROUP {
                let Ok(task) = self.queue.try_recv() else { break };
                read = self.sort(task, &mut group);
            }
            if !group.is_empty() {
                self.transact("BEGIN IMMEDIATE", group);
            }
        }
        let Self { connection, closing, .. } = self;
        drop(connection);
        for closed in closing {
            // Whoever asked may be gone.
            let _ = closed.send(());
        }
    }

    /// Adds a write to the group. A read ends it, so that it sees what was written before it.
    fn sort(&mut self, task: Task, group: &mut Vec<Box<dyn Call>>) -> Option<Box<dyn Call>> {
        match task {
            Task::Call(call) if call.reads_only() => return Some(call),
            Task::Call(call) => group.push(call),
            Task::Close(closed) => {
                // Takes nothing new, and gives out what is queued.
                self.queue.close();
                self.closing.push(closed);
            }
        }
        None
    }

    /// Runs the calls in one transaction, each so that its failure undoes only itself.
    fn transact(&self, begin: &str, mut calls: Vec<Box<dyn Call>>) {
        let opened = self.connection.execute_batch(begin);
        let has_begun = opened.is_ok();
        let ended = opened.and_then(|()| self.run(&mut calls));
        if ended.is_err() && !self.connection.is_autocommit() {
            // A transaction that stays open would swallow all that follows.
            if let Err(error) = self.connection.execute_batch("ROLLBACK") {
                tracing::error!(store = %self.place, %error, "could not roll back");
            }
        }
        if has_begun && ended.is_err() && calls.len() > 1 {
            // One of them is to blame, or the disk. Alone, each answers for itself.
            for call in calls {
                self.transact(begin, vec![call]);
            }
            return;
        }
        for call in calls {
            call.answer(
                ended.as_ref().map_or_else(|error| Err(translate(&self.place, error)), |()| Ok(())),
            );
        }
    }

    fn run(&self, calls: &mut [Box<dyn Call>]) -> rusqlite::Result<()> {
        for call in calls {
            self.connection.execute_batch("SAVEPOINT inbox_call")?;
            let succeeded = call.run(&self.place, &self.connection);
            if !succeeded {
                // Fails if SQLite gave up the whole transaction, such as on a full disk.
                self.connection.execute_batch("ROLLBACK TO inbox_call")?;
            }
            self.connection.execute_batch("RELEASE inbox_call")?;
        }
        self.connection.execute_batch("COMMIT")
    }
}
