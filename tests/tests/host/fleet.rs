use std::time::Duration;

use inbox::store::{DeliveryState, Inspect as _, Maintain as _, Now, OnDead, Route, Served};
use inbox_tests::faulty::{Trouble, Verb};
use tokio::time::{Instant, sleep, timeout};

use crate::kit::{Gate, PATIENCE, What, builder, faulty, faulty_builder, schedule};

/// A route of the same command to a handler that no program of this test has.
fn elsewhere() -> Route {
    Route {
        contract: "host.task".to_owned(),
        handler_key: "elsewhere".to_owned(),
        supersedes: Vec::new(),
        context: String::new(),
        on_dead: OnDead::Block,
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_is_known_while_it_runs() {
    let gate = Gate::default();
    let (inbox, _) = faulty_builder(&gate).await;
    let inbox = inbox.only_handlers(["work"]).build().await.unwrap();
    for _ in 0..2 {
        let host = inbox.start().unwrap();
        let known = async {
            loop {
                if let [known] = inbox.hosts().await.unwrap().as_slice() {
                    return known.clone();
                }
                sleep(Duration::from_millis(1)).await;
            }
        };
        let known = timeout(PATIENCE, known).await.unwrap();
        let served = Served { handler_key: "work".to_owned(), versions: vec![1] };
        assert_eq!(known.serves, [served]);
        let routes = inbox.routes().await.unwrap();
        let work = routes.iter().find(|route| route.handler_key == "work").unwrap();
        assert_eq!(work.hosts, [known.name]);
        host.shutdown(Duration::from_secs(5)).await;
        assert_eq!(inbox.hosts().await.unwrap(), []);
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_says_again_and_again_that_it_is_there() {
    let gate = Gate::default();
    let (inbox, store) = faulty(&gate).await;
    let host = inbox.start().unwrap();
    let seen = async || store.hosts().await.unwrap().first().map(|host| host.seen_at);
    let first = loop {
        match seen().await {
            Some(seen) => break seen,
            None => sleep(Duration::from_millis(10)).await,
        }
    };
    let next = loop {
        sleep(Duration::from_secs(1)).await;
        match seen().await {
            Some(next) if next > first => break next,
            _ => {}
        }
    };
    let between = next.saturating_duration_since(first);
    assert!(between < Duration::from_secs(30), "{between:?}");
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_let_a_host_leave_holds_it_up_for_a_second() {
    let gate = Gate::default();
    let (inbox, store) = faulty(&gate).await;
    let host = inbox.start().unwrap();
    store.trouble(Verb::Leave, Trouble::Hangs, 1);
    let begun = Instant::now();
    host.shutdown(Duration::ZERO).await;
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn what_no_live_host_serves_is_dead_after_the_grace_and_not_before() {
    const GRACE: Duration = Duration::from_mins(20);
    let gate = Gate::default();
    let (inbox, store) = faulty_builder(&gate).await;
    let inbox = inbox.only_handlers(["work"]).orphan_grace(GRACE).build().await.unwrap();
    store.register_routes(vec![elsewhere()], Now::OfStore).await.unwrap();
    let id = schedule(inbox.scheduler(), 0..1, What::Pass).await[0];
    let begun = Instant::now();
    let host = inbox.start().unwrap();
    let dead = loop {
        let status = inbox.status(id).await.unwrap().unwrap();
        let of = |key: &str| {
            let of = |one: &&inbox::store::DeliveryRecord| one.handler_key.as_deref() == Some(key);
            status.deliveries.iter().find(of).unwrap().clone()
        };
        if of("elsewhere").state == DeliveryState::Dead {
            assert_eq!(of("work").state, DeliveryState::Completed);
            break of("elsewhere");
        }
        assert_eq!((of("elsewhere").state, of("elsewhere").attempts), (DeliveryState::Pending, 0));
        assert!(begun.elapsed() < GRACE * 2, "it is kept for too long");
        sleep(Duration::from_secs(5)).await;
    };
    assert!(begun.elapsed() >= GRACE, "{:?}", begun.elapsed());
    assert_eq!(dead.reason.as_deref(), Some("orphaned"));
    let error = dead.error.unwrap();
    assert!(error.contains("key `elsewhere`; live ones are: `work`"), "{error}");
    host.shutdown(Duration::from_secs(5)).await;
    // Nothing is dropped.
    assert!(inbox.retry(id, "elsewhere").await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn hosts_of_different_handlers_never_touch_each_others_work() {
    let gate = Gate::default();
    let (inbox, store) = faulty_builder(&gate).await;
    let worker = inbox.only_handlers(["work"]).build().await.unwrap();
    // By the same clock, and quick to give up what nobody serves.
    let other = builder(store, &gate).clock(worker.scheduler().clock().clone());
    let other = other.renew_in_place().only_handlers(["narrow"]).orphan_grace(Duration::ZERO);
    let other = other.build().await.unwrap();
    let ids = schedule(worker.scheduler(), 0..20, What::Pass).await;
    let hosts = [worker.start().unwrap(), other.start().unwrap()];
    // It is there and takes nothing for a long time, and the other one looks at it all the while.
    worker.control().pause();
    let ids = [ids, schedule(worker.scheduler(), 20..40, What::Pass).await].concat();
    sleep(Duration::from_mins(10)).await;
    worker.control().resume();
    gate.ended(40).await;
    for host in &hosts {
        host.shutdown(Duration::from_secs(5)).await;
    }
    for id in ids {
        let status = worker.status(id).await.unwrap().unwrap();
        let [delivery] = &status.deliveries[..] else { panic!("{status:?}") };
        assert_eq!((delivery.state, delivery.attempts), (DeliveryState::Completed, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn what_only_passes_serve_is_no_orphan() {
    let gate = Gate::default();
    let (inbox, store) = faulty_builder(&gate).await;
    let inbox = inbox.only_handlers(["work"]).build().await.unwrap();
    schedule(inbox.scheduler(), 0..1, What::Pass).await;
    // A program that a timer starts makes itself known as a host does.
    inbox.process_pending().await.unwrap();
    let hosts = store.hosts().await.unwrap();
    assert_eq!(hosts[0].serves[0].handler_key, "work");
    gate.ended(1).await;
}

#[tokio::test]
async fn a_program_that_only_schedules_is_no_host() {
    let store = inbox::sqlite::in_memory().await.unwrap();
    let gate = Gate::default();
    let inbox = builder(store, &gate).scheduler_only().build().await.unwrap();
    inbox.process_pending().await.unwrap();
    let host = inbox.start().unwrap();
    host.shutdown(Duration::ZERO).await;
    assert_eq!(inbox.hosts().await.unwrap(), []);
}
