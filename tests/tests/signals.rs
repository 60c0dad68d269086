//! A process that is asked to stop, once and again, by the operating system.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::io::{BufRead as _, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use inbox::store::{DeliveryFilter, DeliveryState, Inspect as _};

struct Worker {
    child: Child,
    said: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    fn start(file: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stubborn_worker"));
        let mut child = command.arg(file).stdout(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, said }
    }

    fn says(&mut self, expected: &str) {
        assert_eq!(self.said.next().unwrap().unwrap(), expected);
    }

    fn signal(&self, signal: &str) {
        let kill = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(kill.unwrap().success());
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Gone already, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn a_second_signal_ends_a_shutdown_that_would_wait_and_gives_back_what_was_held() {
    for (first, second) in [("-TERM", "-TERM"), ("-INT", "-INT"), ("-TERM", "-INT")] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("inbox.db");
        let mut worker = Worker::start(&file);
        worker.says("begun");
        worker.signal(first);
        worker.says("stopping");
        worker.signal(second);
        worker.says("stopped");
        assert!(worker.child.wait().unwrap().success(), "{first} {second}");
        let store = inbox::sqlite::open(&file).await.unwrap();
        let delivery = store.list(DeliveryFilter::default()).await.unwrap().deliveries.remove(0);
        assert_eq!((delivery.state, delivery.attempts), (DeliveryState::Pending, 0));
    }
}
