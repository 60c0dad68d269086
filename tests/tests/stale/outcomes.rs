use std::time::Duration;

use inbox::hosting::PendingReport;
use inbox_tests::stale::{Manner, Outcome, Task};
use tokio::task::JoinSet;

use crate::place::Place;
use crate::worker::Worker;

/// What became of the delivery while its worker stood still.
#[derive(Debug, Clone, Copy)]
enum Meanwhile {
    /// Its lease expired, and nobody has come for it: it is still the worker's own.
    Expired,
    /// Its lease was reclaimed, and nobody has leased it since.
    Reclaimed,
    /// Another worker is at it.
    Held,
    /// Another worker has settled it, so.
    Settled(Outcome),
}

const MEANWHILE: [Meanwhile; 5] = [
    Meanwhile::Expired,
    Meanwhile::Reclaimed,
    Meanwhile::Held,
    Meanwhile::Settled(Outcome::Success),
    Meanwhile::Settled(Outcome::Error),
];

async fn changes_nothing(
    place: Place,
    task: Task,
    outcome: Outcome,
    manner: Manner,
    meanwhile: Meanwhile,
) {
    let mut stale = Worker::start(&place.address, task, outcome, manner);
    assert_eq!(stale.line(), "running");
    stale.signal("STOP");
    let other = |outcome, manner| Worker::start(&place.address, task, outcome, manner);
    let holder = match meanwhile {
        Meanwhile::Expired | Meanwhile::Reclaimed => {
            while !place.has_expired().await {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            if matches!(meanwhile, Meanwhile::Reclaimed) {
                assert_eq!(place.reclaim().await, task.deliveries());
            }
            None
        }
        Meanwhile::Held => {
            let mut holder = other(Outcome::Success, Manner::Holds);
            assert_eq!(holder.line(), "running");
            Some(holder)
        }
        Meanwhile::Settled(outcome) => {
            let report = other(outcome, Manner::Takes).report();
            assert!(report.contains("lost: 0"), "{report}");
            None
        }
    };
    let before = place.stored().await;
    stale.go_on();
    stale.signal("CONT");
    if matches!(meanwhile, Meanwhile::Expired) {
        let report = stale.report();
        assert!(report.contains("lost: 0"), "nobody had taken it: {report}");
        return;
    }
    let mut lost = PendingReport::default();
    (lost.leased, lost.lost) = (task.deliveries(), task.deliveries());
    assert_eq!(stale.report(), format!("{lost:?}"), "{meanwhile:?}");
    assert_eq!(place.stored().await, before, "{meanwhile:?}");
    if let Some(mut holder) = holder {
        holder.go_on();
        let report = holder.report();
        assert!(report.contains("lost: 0"), "the other was disturbed: {report}");
    }
}

async fn on_a_server(task: Task, outcome: Outcome, manner: Manner) {
    let mut all = JoinSet::new();
    for meanwhile in MEANWHILE {
        let place = Place::on_a_server().await;
        all.spawn(changes_nothing(place, task, outcome, manner, meanwhile));
    }
    all.join_all().await;
}

/// Blocking, so that it does not stop in the middle of a renewal: the file would stay locked. All at once, as
/// most of it is to wait for a lease to expire.
async fn in_files(cases: &[(Task, Outcome)]) {
    let mut all = JoinSet::new();
    for ((task, outcome), meanwhile) in
        cases.iter().flat_map(|case| MEANWHILE.map(|meanwhile| (*case, meanwhile)))
    {
        let place = Place::in_a_file().await;
        all.spawn(changes_nothing(place, task, outcome, Manner::Blocks, meanwhile));
    }
    all.join_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_success_that_comes_too_late_changes_nothing() {
    on_a_server(Task::One, Outcome::Success, Manner::Waits).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_success_of_a_handler_that_blocks_changes_nothing() {
    on_a_server(Task::One, Outcome::Success, Manner::Blocks).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_error_that_comes_too_late_is_not_retried() {
    on_a_server(Task::One, Outcome::Error, Manner::Waits).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_panic_that_comes_too_late_is_not_retried() {
    on_a_server(Task::One, Outcome::Panic, Manner::Waits).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_last_attempt_that_fails_too_late_is_not_dead() {
    on_a_server(Task::Last, Outcome::Error, Manner::Waits).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_batch_that_succeeds_too_late_changes_nothing() {
    on_a_server(Task::Many, Outcome::Success, Manner::Waits).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_batch_that_fails_too_late_changes_nothing() {
    on_a_server(Task::Many, Outcome::Error, Manner::Waits).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_expires_in_the_hands_of_a_stale_worker_does_not_expire() {
    on_a_server(Task::Late, Outcome::Success, Manner::Waits).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 28)]
async fn no_outcome_that_comes_too_late_changes_a_file() {
    in_files(&[
        (Task::One, Outcome::Success),
        (Task::One, Outcome::Error),
        (Task::One, Outcome::Panic),
        (Task::Last, Outcome::Error),
        (Task::Many, Outcome::Success),
        (Task::Many, Outcome::Error),
        (Task::Late, Outcome::Success),
    ])
    .await;
}
