//! A store that fails, hangs or even panics at any verb, for a moment or for long.

use std::time::Duration;

use inbox::hosting::{Health, HostPhase};
use inbox::store::{DeliveryState, StoreErrorKind};
use inbox_tests::faulty::{Trouble, Verb};
use tokio::time::Instant;

use crate::kit::{Gate, What, all_are, faulty, health_is, schedule};

/// The whole store's trouble, whatever is asked of it.
const KINDS: [StoreErrorKind; 4] = [
    StoreErrorKind::Busy,
    StoreErrorKind::TimedOut,
    StoreErrorKind::ReadOnly,
    StoreErrorKind::Full,
];

/// From a moment to long after every lease is over, at each verb and at all of them.
#[tokio::test(start_paused = true)]
async fn outages_from_a_second_to_ten_minutes_are_red_and_then_green_and_lose_nothing() {
    let every_verb = Verb::ALL.map(|verb| vec![verb]).into_iter().chain([Verb::ALL.to_vec()]);
    for (verbs, kind) in every_verb.zip(KINDS.into_iter().cycle()) {
        for lasts in [1, 10, 60, 600].map(Duration::from_secs) {
            let gate = Gate::default();
            let (inbox, store) = faulty(&gate).await;
            let host = inbox.start().unwrap();
            health_is(&inbox, Health::is_ready).await;
            schedule(inbox.scheduler(), 0..2, What::Wait).await;
            gate.began(2).await;
            for verb in &verbs {
                store.trouble(*verb, Trouble::Fails(kind), u32::MAX);
            }
            schedule(inbox.scheduler(), 2..4, What::Pass).await;
            gate.permit(1);
            tokio::time::sleep(lasts).await;
            let health = inbox.control().health();
            let is_noticed = store.met() > 0;
            let case = format!("{verbs:?}, {kind:?}, {lasts:?}");
            assert!(!is_noticed || !health.is_ready(), "{case}: {health}");
            // What nobody's delivery depends on is no reason to say that the host does not work.
            let is_needed = verbs != [Verb::Check];
            assert!(!is_noticed || health.is_live() != is_needed, "{case}: {health}");
            store.heal();
            gate.permit(10);
            let healed = Instant::now();
            schedule(inbox.scheduler(), 4..5, What::Pass).await;
            gate.until(|seen| seen.ended.contains_key(&4)).await;
            assert!(healed.elapsed() < Duration::from_secs(10), "{case}: {:?}", healed.elapsed());
            gate.ended(5).await;
            assert_eq!(all_are(&store, DeliveryState::Completed).await, 5, "{case}");
            // What was lost with its lease is another's, which takes until the lease is over.
            let longest = Duration::from_secs(70);
            assert!(healed.elapsed() < longest, "{case}: {:?}", healed.elapsed());
            health_is(&inbox, |health| health.is_ready() && health.problems().next().is_none())
                .await;
            host.shutdown(Duration::from_secs(5)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_is_noticed_by_a_loop_that_does_not_come_around() {
    let gate = Gate::default();
    let (inbox, store) = faulty(&gate).await;
    let host = inbox.start().unwrap();
    health_is(&inbox, Health::is_ready).await;
    store.trouble(Verb::Lease, Trouble::Hangs, 1);
    let health = health_is(&inbox, |health| !health.is_live()).await;
    let problem = health.problems().next().unwrap();
    assert!(problem.starts_with("pump: has not come around for"), "{problem}");
    let begun = Instant::now();
    host.shutdown(Duration::from_secs(3)).await;
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
}

/// While nothing is held, while handlers are at work and an outcome is to be written, and long after
/// leases could not be renewed.
#[tokio::test(start_paused = true)]
async fn a_shutdown_is_bounded_at_every_stage_whatever_the_store_does() {
    const TIME: Duration = Duration::from_secs(3);
    let troubles = [Trouble::Fails(StoreErrorKind::Busy), Trouble::Hangs, Trouble::Panics];
    let stages = [0, 2, 90].map(Duration::from_secs);
    for verb in Verb::ALL.into_iter().chain([Verb::Release]) {
        for (trouble, stage) in troubles.iter().flat_map(|one| stages.map(|stage| (*one, stage))) {
            let gate = Gate::default();
            let (inbox, store) = faulty(&gate).await;
            let host = inbox.start().unwrap();
            health_is(&inbox, Health::is_ready).await;
            if stage > Duration::ZERO {
                schedule(inbox.scheduler(), 0..3, What::Wait).await;
                gate.began(3).await;
            }
            store.trouble(verb, trouble, u32::MAX);
            gate.permit(1);
            schedule(inbox.scheduler(), 3..5, What::Pass).await;
            tokio::time::sleep(stage).await;
            let case = format!("{verb:?}, {trouble:?}, {stage:?}");
            let begun = Instant::now();
            let report = host.shutdown(TIME).await;
            let took = begun.elapsed();
            assert!(took < TIME + Duration::from_secs(5), "{case}: {took:?}, {report:?}");
            assert_eq!(inbox.control().health().phase, HostPhase::Stopped, "{case}");
            assert_eq!(gate.seen().running, 0, "{case}: a handler goes on");
            // Nothing is lost, whatever was left.
            store.heal();
            gate.permit(10);
            let host = inbox.start().unwrap();
            let all = if stage > Duration::ZERO { 5 } else { 2 };
            assert_eq!(all_are(&store, DeliveryState::Completed).await, all, "{case}");
            host.shutdown(TIME).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_loop_that_panics_is_started_again_and_says_so_meanwhile() {
    for verb in Verb::ALL {
        let gate = Gate::default();
        let (inbox, store) = faulty(&gate).await;
        let host = inbox.start().unwrap();
        health_is(&inbox, Health::is_ready).await;
        schedule(inbox.scheduler(), 0..1, What::Wait).await;
        gate.began(1).await;
        store.trouble(verb, Trouble::Panics, 1);
        schedule(inbox.scheduler(), 1..2, What::Pass).await;
        if verb == Verb::Settle {
            gate.permit(1);
        }
        let health = health_is(&inbox, |health| health.problems().next().is_some()).await;
        let problem = health.problems().next().unwrap();
        assert!(problem.contains("failed: task"), "{verb:?}: {problem}");
        gate.permit(10);
        assert_eq!(all_are(&store, DeliveryState::Completed).await, 2, "{verb:?}");
        health_is(&inbox, |health| health.problems().next().is_none()).await;
        host.shutdown(Duration::from_secs(5)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_is_refused_at_first_is_written_and_its_handler_runs_once() {
    for kind in KINDS.into_iter().chain([StoreErrorKind::Other]) {
        let gate = Gate::default();
        let (inbox, store) = faulty(&gate).await;
        store.trouble(Verb::Settle, Trouble::Fails(kind), 2);
        let host = inbox.start().unwrap();
        schedule(inbox.scheduler(), 0..20, What::Pass).await;
        assert_eq!(all_are(&store, DeliveryState::Completed).await, 20, "{kind:?}");
        assert!(gate.seen().began.values().all(|times| *times == 1), "{kind:?}: {:?}", gate.seen());
        host.shutdown(Duration::from_secs(5)).await;
        assert_eq!(inbox.control().health().phase, HostPhase::Stopped);
    }
}
