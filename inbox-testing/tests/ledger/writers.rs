use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use inbox_core::message::MessageId;
use inbox_testing::ledger::{Entry, Ledger};
use tempfile::tempdir;

use crate::story::{accepted_in, id};

#[test]
fn eight_writers_at_once_lose_no_entry() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("ledger");
    thread::scope(|scope| {
        for writer in 0..8 {
            // Each opens the file by itself, as processes do.
            let ledger = Ledger::open(&path).unwrap();
            scope.spawn(move || {
                for n in 0..500 {
                    ledger.append(&accepted_in(&"x".repeat(n % 200), writer * 500 + n as u128, 0));
                }
            });
        }
    });
    let history = Ledger::read(&path).unwrap();
    assert_eq!(history.torn(), []);
    assert_eq!(history.entries().len(), 4_000);
    let ids: BTreeSet<_> = history.entries().iter().map(message_of).collect();
    assert_eq!(ids, (0..4_000).map(id).collect());
}

fn message_of(entry: &Entry) -> MessageId {
    match entry {
        Entry::Accepted { message_id, .. }
        | Entry::Started { message_id, .. }
        | Entry::Finished { message_id, .. } => *message_id,
    }
}

const VICTIM: &str = "INBOX_LEDGER_VICTIM";

/// No test by itself: what the next one runs as a process and kills.
#[test]
fn a_victim_appends_until_it_is_killed() {
    let Some(path) = std::env::var_os(VICTIM) else { return };
    // Should its parent fail to kill it, it ends with the parent.
    thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(1);
    });
    let ledger = Ledger::open(path).unwrap();
    for n in 0.. {
        ledger.append(&accepted_in(&"x".repeat(300), n, 0));
    }
}

#[test]
fn killed_processes_tear_at_most_one_line_each() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("ledger");
    let ledger = Ledger::open(&path).unwrap();
    let mut victims: Vec<Child> = (0..3).map(|_| victim(&path)).collect();
    for victim in &mut victims {
        let size = std::fs::metadata(&path).unwrap().len();
        while std::fs::metadata(&path).unwrap().len() < size + 100_000 {
            assert_eq!(victim.try_wait().unwrap(), None, "the victim ended by itself");
            thread::yield_now();
        }
        victim.kill().unwrap();
        victim.wait().unwrap();
        ledger.append(&accepted_in("a survivor", 1, 0));
    }
    let history = Ledger::read(&path).unwrap();
    assert!(history.torn().len() <= victims.len(), "{:?}", history.torn());
    let survivor = accepted_in("a survivor", 1, 0);
    assert_eq!(history.entries().iter().filter(|entry| **entry == survivor).count(), 3);
}

fn victim(path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writers::a_victim_appends_until_it_is_killed"])
        .env(VICTIM, path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}
