//! A chore that fails, hangs or panics does so alone.

use std::time::Duration;

use inbox::store::StoreErrorKind;
use inbox_tests::faulty::{Trouble, Verb};

use super::kit::{CHORES, called, is_well, only_this_is_ill, others, others_work, started};
use crate::kit::{Gate, faulty, health_is};

#[tokio::test(start_paused = true)]
async fn a_chore_that_fails_keeps_no_other_from_running_and_health_names_it() {
    for (verb, chore) in CHORES {
        let (inbox, store, host) = started(&Gate::default()).await;
        store.trouble(verb, Trouble::Fails(StoreErrorKind::Other), u32::MAX);
        only_this_is_ill(&inbox, chore, "the test says no").await;
        others_work(&store, verb).await;
        only_this_is_ill(&inbox, chore, "the test says no").await;
        store.heal();
        health_is(&inbox, is_well).await;
        host.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_chore_that_hangs_is_timed_out_and_keeps_no_other_from_running() {
    for (verb, chore) in CHORES {
        let (inbox, store, host) = started(&Gate::default()).await;
        store.trouble(verb, Trouble::Hangs, u32::MAX);
        others_work(&store, verb).await;
        only_this_is_ill(&inbox, chore, "has not come around for").await;
        only_this_is_ill(&inbox, chore, "the store did not answer within").await;
        others_work(&store, verb).await;
        store.heal();
        health_is(&inbox, is_well).await;
        host.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_chore_that_panics_is_started_again_and_keeps_no_other_from_running() {
    for (verb, chore) in CHORES {
        let (inbox, store, host) = started(&Gate::default()).await;
        store.trouble(verb, Trouble::Panics, u32::MAX);
        only_this_is_ill(&inbox, chore, "failed: task").await;
        others_work(&store, verb).await;
        let panicked = store.calls(verb).begun;
        called(&store, verb, |calls| calls.begun > panicked).await;
        store.heal();
        health_is(&inbox, is_well).await;
        host.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_pass_tries_every_chore_whatever_becomes_of_the_others() {
    for (failing, chore) in CHORES {
        // A pass leases by itself what is due, and leaves orphans to hosts.
        if matches!(failing, Verb::NextDue | Verb::GiveUpOrphans) {
            continue;
        }
        let (inbox, store) = faulty(&Gate::default()).await;
        store.trouble(failing, Trouble::Fails(StoreErrorKind::Other), 1);
        assert!(inbox.process_pending().await.is_err(), "{chore}");
        for verb in others(failing) {
            let is_tried = !matches!(verb, Verb::NextDue | Verb::GiveUpOrphans);
            assert_eq!(store.calls(verb).answered > 0, is_tried, "{verb:?} beside {failing:?}");
        }
        inbox.process_pending().await.unwrap();
    }
}
