//! What a program is told at its start about routes that others made.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use inbox::sqlite::{SqliteStore, in_memory};
use inbox::store::{Inspect as _, Maintain as _, Now, OnDead, Route};
use inbox::{Inbox, handler, inbox_contract};
use inbox_tests::log::captured;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "event", version = 1)]
#[derive(Serialize, Deserialize)]
struct Event;

#[handler(key = "here")]
async fn here(_event: Event) {}

/// What is logged when this program starts on a store that knows `routes`.
fn start_after(routes: Vec<Route>) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let store: SqliteStore = runtime.block_on(in_memory()).unwrap();
    runtime.block_on(store.register_routes(routes, Now::OfStore)).unwrap();
    captured(|| drop(runtime.block_on(Inbox::builder(store).build()).unwrap()))
}

fn route(handler_key: &str, supersedes: &[&str]) -> Route {
    Route {
        contract: "event".to_owned(),
        handler_key: handler_key.to_owned(),
        supersedes: supersedes.iter().map(|key| (*key).to_owned()).collect(),
        context: String::new(),
        on_dead: OnDead::Block,
    }
}

#[test]
fn a_key_that_nobody_here_answers_to_is_mentioned_with_what_to_write() {
    let log = start_after(vec![route("elsewhere", &[])]);
    let line = log.lines().find(|line| line.contains("elsewhere")).unwrap();
    assert!(line.contains("INFO") && line.contains("write that key in `legacy`"), "{log}");
}

#[test]
fn a_program_whose_key_was_renamed_by_a_newer_one_is_warned() {
    let log = start_after(vec![route("renamed", &["here"])]);
    let line = log.lines().find(|line| line.contains("WARN")).unwrap();
    assert!(line.contains("is given nothing new") && line.contains("renamed"), "{log}");
}

#[test]
fn a_program_alone_on_its_store_is_told_nothing() {
    let log = start_after(Vec::new());
    assert!(!log.contains("another program") && !log.contains("WARN"), "{log}");
}

#[test]
fn a_program_whose_key_was_retired_is_warned_and_told_how_to_undo_it() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let store: SqliteStore = runtime.block_on(in_memory()).unwrap();
    runtime.block_on(store.register_routes(vec![route("here", &[])], Now::OfStore)).unwrap();
    runtime.block_on(store.retire("event", "here", Now::OfStore)).unwrap();
    let log = captured(|| drop(runtime.block_on(Inbox::builder(store).build()).unwrap()));
    let line = log.lines().find(|line| line.contains("WARN")).unwrap();
    assert!(line.contains("retired its key") && line.contains("`inbox.restore("), "{log}");
}
