//! What becomes of deliveries while a chore fails, and after it.

use std::time::Duration;

use inbox::store::{
    DeliveryState, Inspect as _, LeaseRequest, LeaseStore as _, Maintain as _, Now, OnDead, Route,
    StoreErrorKind, Terms, Wanted,
};
use inbox::{Inbox, MessageId, ScheduleOptions};
use inbox_tests::faulty::{FaultyStore, Trouble, Verb};
use tokio::time::{Instant, sleep};

use super::kit::{CHORES, called, is_well};
use crate::kit::{Gate, PATIENCE, Task, What, faulty_builder, health_is, schedule};

/// How long the leases of a host hold that does not say.
const LEASE: Duration = Duration::from_mins(1);

/// A host of `work` beside a worker that vanished with task 0, and beside a delivery of it for a key that no
/// host serves.
struct Scene {
    gate: Gate,
    inbox: Inbox<FaultyStore>,
    store: FaultyStore,
    vanished: MessageId,
}

impl Scene {
    async fn new(lease: Duration) -> Self {
        let gate = Gate::default();
        let (inbox, store) = faulty_builder(&gate).await;
        let inbox = inbox.only_handlers(["work"]).orphan_grace(Duration::ZERO);
        let inbox = inbox.build().await.unwrap();
        let elsewhere = Route {
            contract: "host.task".to_owned(),
            handler_key: "elsewhere".to_owned(),
            supersedes: Vec::new(),
            context: String::new(),
            on_dead: OnDead::Block,
        };
        store.register_routes(vec![elsewhere], Now::OfStore).await.unwrap();
        let vanished = schedule(inbox.scheduler(), 0..1, What::Pass).await[0];
        let wanted = Wanted {
            handler_key: "work".to_owned(),
            versions: vec![1],
            limit: 1.try_into().unwrap(),
            max_crashes: 5.try_into().unwrap(),
            terms: Terms::default(),
        };
        let host = "vanished".to_owned();
        let request = LeaseRequest {
            host,
            duration: lease,
            wanted: vec![wanted],
            tenants: None,
            quarantine: None,
            first: None,
        };
        let now = inbox.scheduler().clock().now();
        assert_eq!(store.lease(request, now).await.unwrap().len(), 1);
        Self { gate, inbox, store, vanished }
    }

    /// Whether the delivery that no host serves is dead.
    async fn is_orphaned(&self) -> bool {
        let status = self.inbox.status(self.vanished).await.unwrap().unwrap();
        let mut orphans = status.deliveries.iter();
        orphans.any(|one| one.state == DeliveryState::Dead)
    }

    async fn orphaned(&self) {
        let begun = std::time::Instant::now();
        while !self.is_orphaned().await {
            assert!(begun.elapsed() < PATIENCE, "{}", self.inbox.control().health());
            sleep(Duration::from_millis(100)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn while_one_chore_fails_deliveries_are_promoted_reclaimed_and_orphaned_by_the_others() {
    for (failing, _) in CHORES {
        let scene = Scene::new(Duration::from_secs(30)).await;
        let (gate, store) = (&scene.gate, &scene.store);
        store.trouble(failing, Trouble::Fails(StoreErrorKind::Other), u32::MAX);
        let delayed = ScheduleOptions::new().delay(Duration::from_secs(20));
        let task = Task { number: 1, what: What::Pass };
        scene.inbox.scheduler().schedule(task, delayed).await.unwrap();
        let host = scene.inbox.start().unwrap();
        if failing != Verb::Promote {
            gate.until(|seen| seen.ended.contains_key(&1)).await;
        }
        if failing != Verb::Reclaim {
            gate.until(|seen| seen.ended.contains_key(&0)).await;
        }
        if !matches!(failing, Verb::GiveUpOrphans | Verb::Announce) {
            scene.orphaned().await;
        }
        if failing != Verb::Announce {
            assert_eq!(store.hosts().await.unwrap().len(), 1, "{failing:?}");
        }
        store.heal();
        gate.ended(2).await;
        scene.orphaned().await;
        host.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test(start_paused = true)]
async fn after_an_outage_nothing_is_reclaimed_until_living_hosts_could_renew_their_leases() {
    for trouble in [Trouble::Fails(StoreErrorKind::Busy), Trouble::Hangs] {
        let scene = Scene::new(Duration::from_secs(30)).await;
        let host = scene.inbox.start().unwrap();
        health_is(&scene.inbox, is_well).await;
        scene.store.trouble(Verb::Reclaim, trouble, u32::MAX);
        sleep(Duration::from_mins(10)).await;
        assert!(scene.gate.seen().began.is_empty());
        let met = scene.store.met();
        scene.store.heal();
        let healed = Instant::now();
        scene.gate.ended(1).await;
        let after = healed.elapsed();
        assert!(after >= LEASE / 3, "{trouble:?}: {after:?}, {met} calls before");
        health_is(&scene.inbox, is_well).await;
        host.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test(start_paused = true)]
async fn orphans_are_left_alone_until_the_heartbeat_has_been_back_for_ten_seconds() {
    const SIGHT: Duration = Duration::from_secs(10);
    let scene = Scene::new(Duration::from_hours(1)).await;
    let store = &scene.store;
    let host = scene.inbox.start().unwrap();
    called(store, Verb::Announce, |calls| calls.answered > 0).await;
    store.trouble(Verb::Announce, Trouble::Fails(StoreErrorKind::Busy), u32::MAX);
    let begun = store.calls(Verb::Announce).begun;
    called(store, Verb::Announce, |calls| calls.begun > begun + 10).await;
    let (looked, answered) =
        (store.calls(Verb::GiveUpOrphans).begun, store.calls(Verb::Announce).answered);
    sleep(Duration::from_mins(5)).await;
    assert_eq!(store.calls(Verb::GiveUpOrphans).begun, looked, "it judged without a heartbeat");
    store.heal();
    called(store, Verb::Announce, |calls| calls.answered > answered).await;
    let back = Instant::now();
    called(store, Verb::GiveUpOrphans, |calls| calls.begun > looked).await;
    let after = back.elapsed();
    assert!(after >= SIGHT && after <= SIGHT + Duration::from_secs(2), "{after:?}");
    scene.orphaned().await;
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn what_vanished_workers_held_comes_back_while_nothing_can_be_promoted() {
    let gate = Gate::default();
    let (inbox, store) = faulty_builder(&gate).await;
    let inbox = inbox.lease_duration(Duration::from_secs(1)).build().await.unwrap();
    store.trouble(Verb::Promote, Trouble::Fails(StoreErrorKind::Other), u32::MAX);
    schedule(inbox.scheduler(), 0..1, What::WaitOrStop).await;
    let host = inbox.start().unwrap();
    gate.began(1).await;
    // Its lease is over when nobody renews it, and then it is a vanished worker's.
    store.trouble(Verb::Renew, Trouble::Fails(StoreErrorKind::Busy), u32::MAX);
    gate.until(|seen| seen.began.get(&0) == Some(&2)).await;
    assert!(!inbox.control().health().is_live(), "what cannot be promoted is no secret");
    store.heal();
    gate.permit(1);
    host.shutdown(Duration::from_secs(5)).await;
}
