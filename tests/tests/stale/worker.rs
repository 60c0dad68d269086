use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use inbox_tests::stale::{Manner, Outcome, Task};

/// A process of its own.
pub(crate) struct Worker {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Worker {
    pub(crate) fn start(store: &str, task: Task, outcome: Outcome, manner: Manner) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_stale_worker"))
            .arg(store)
            .args([format!("{task:?}"), format!("{outcome:?}"), format!("{manner:?}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, output }
    }

    /// The next thing it says.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Lets its handler go on.
    pub(crate) fn go_on(&mut self) {
        self.process.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    /// Sends it `STOP` or `CONT`.
    pub(crate) fn signal(&self, signal: &str) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
    }

    /// What its passes did, once it has left.
    pub(crate) fn report(mut self) -> String {
        let report = loop {
            match self.line() {
                running if running == "running" => self.go_on(),
                report => break report,
            }
        };
        assert!(self.process.wait().unwrap().success());
        report
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Gone already, unless the test failed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
