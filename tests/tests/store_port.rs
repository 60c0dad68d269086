//! All that an inbox asks of its store is counted by verb, and has a span.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use inbox::hosting::{HostControl, StoreVerb, VerbCounts};
use inbox::store::StoreErrorKind;
use inbox::{Context, Inbox, ScheduleOptions, State, handler, inbox_contract};
use inbox_tests::faulty::{FaultyStore, RuntimeClock, Trouble, Verb};
use inbox_tests::log::captured;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

#[inbox_contract(name = "port.order", version = 1)]
#[derive(Serialize, Deserialize)]
struct Order;

#[inbox_contract(name = "port.bill", version = 1)]
#[derive(Serialize, Deserialize)]
struct Bill;

/// Schedules a bill, and takes so long that its lease is renewed.
#[handler(key = "port.order")]
async fn order(_command: Order, context: Context) -> Result<(), inbox_tests::BoxError> {
    context.scheduler().schedule(Bill, ScheduleOptions::new()).await?;
    tokio::time::sleep(Duration::from_mins(5)).await;
    Ok(())
}

#[handler(key = "port.bill")]
async fn bill(_command: Bill, billed: State<Arc<Notify>>) {
    billed.notify_one();
}

async fn faulty() -> (Inbox<FaultyStore>, FaultyStore, Arc<Notify>) {
    let (store, billed) = (FaultyStore::new().await.unwrap(), Arc::new(Notify::new()));
    let inbox = Inbox::builder(store.clone())
        .state(Arc::clone(&billed))
        .clock(RuntimeClock::start())
        .renew_in_place();
    (inbox.build().await.unwrap(), store, billed)
}

/// Waits until the counts of a verb are as expected.
async fn counted(
    control: &HostControl,
    verb: StoreVerb,
    expected: impl Fn(VerbCounts) -> bool,
) -> VerbCounts {
    loop {
        let counts = control.meter().of(verb);
        if expected(counts) {
            return counts;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A subscriber sees what is logged on this thread alone, and time passes only where all wait.
fn on_this_thread<T>(test: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().start_paused(true).build().unwrap().block_on(test)
}

#[test]
fn the_work_of_a_host_is_counted_for_each_verb_of_the_spine() {
    let log = captured(|| {
        on_this_thread(async {
            let (inbox, _, _) = faulty().await;
            let control = inbox.control();
            assert_eq!(control.meter().of(StoreVerb::RegisterRoutes).calls, 1, "at `build`");
            let host = inbox.start().unwrap();
            let options = ScheduleOptions::new().delay(Duration::from_secs(5));
            let options = options.tenant("acme").correlation_id("conversation-7");
            let id = inbox.scheduler().schedule(Order, options).await.unwrap().message_id();
            let settled = counted(&control, StoreVerb::Settle, |it| it.deliveries == 2).await;
            assert_eq!((settled.errors, settled.dropped), (0, 0));
            let meter = control.meter();
            let moved = |verb| meter.of(verb).deliveries;
            assert_eq!(moved(StoreVerb::Accept), 1, "what the handler scheduled");
            assert_eq!(moved(StoreVerb::Lease), 2);
            assert_eq!(moved(StoreVerb::Promote), 1);
            assert_eq!((moved(StoreVerb::Reclaim), moved(StoreVerb::Route)), (0, 0));
            let chores = [
                StoreVerb::Renew,
                StoreVerb::Reclaim,
                StoreVerb::Route,
                StoreVerb::NextDue,
                StoreVerb::Heartbeat,
                StoreVerb::Repair,
                StoreVerb::DeadLetterOrphans,
                StoreVerb::Check,
            ];
            for verb in chores {
                assert!(meter.of(verb).calls > 0, "{verb}");
            }
            host.shutdown(Duration::ZERO).await;
            inbox.status(id).await.unwrap();
            let meter = control.meter();
            assert_eq!(meter.of(StoreVerb::Show).calls, 1);
            assert_eq!(meter.of(StoreVerb::Deregister).calls, 1);
            let errors: u64 = meter.verbs.iter().map(|(_, counts)| counts.errors).sum();
            assert_eq!(errors, 0, "{meter:?}");
        });
    });
    assert!(!log.contains("store call failed"), "{log}");
    let settled: Vec<_> = log.lines().filter(|line| line.contains("delivery settled")).collect();
    assert_eq!(settled.len(), 2, "{log}");
    for (line, key) in settled.iter().zip(["port.bill", "port.order"]) {
        let keyed = format!("delivery{{handler_key=\"{key}\" contract=\"{key}\"");
        let fields = [
            "message_id=",
            "attempt=1",
            "tenant=\"acme\"",
            "correlation_id=\"conversation-7\"",
            &keyed,
        ];
        assert!(fields.iter().all(|field| line.contains(field)), "{line}");
    }
}

#[test]
fn process_pending_is_counted_too() {
    captured(|| {
        on_this_thread(async {
            let (inbox, _, billed) = faulty().await;
            inbox.scheduler().schedule(Bill, ScheduleOptions::new()).await.unwrap();
            assert_eq!(inbox.process_pending().await.unwrap().completed, 1);
            billed.notified().await;
            let meter = inbox.control().meter();
            assert_eq!(meter.of(StoreVerb::Lease).deliveries, 1);
            let VerbCounts { calls, errors, deliveries, .. } = meter.of(StoreVerb::Settle);
            assert_eq!((calls, errors, deliveries), (1, 0, 1));
        });
    });
}

#[test]
fn calls_that_fail_or_take_long_are_counted_and_logged_in_their_span() {
    const SLOW: Duration = Duration::from_secs(3);
    let log = captured(|| {
        on_this_thread(async {
            let (inbox, store, _) = faulty().await;
            inbox.scheduler().schedule(Bill, ScheduleOptions::new()).await.unwrap();
            store.trouble(Verb::Lease, Trouble::Fails(StoreErrorKind::ReadOnly), 1);
            inbox.process_pending().await.unwrap_err();
            let lease = inbox.control().meter().of(StoreVerb::Lease);
            assert_eq!((lease.calls, lease.errors, lease.deliveries), (1, 1, 0));
            store.trouble(Verb::Settle, Trouble::Slow(SLOW), 1);
            inbox.process_pending().await.unwrap();
            let settle = inbox.control().meter().of(StoreVerb::Settle);
            assert_eq!((settle.calls, settle.errors, settle.deliveries), (1, 0, 1));
            assert!(settle.time >= SLOW, "{settle:?}");
        });
    });
    let failed: Vec<_> = log.lines().filter(|line| line.contains("store call failed")).collect();
    assert_eq!(failed.len(), 1, "{log}");
    let fields = ["DEBUG", "store call{verb=\"lease\"", "the test says no", "elapsed="];
    assert!(fields.iter().all(|field| failed[0].contains(field)), "{log}");
}

#[test]
fn a_call_that_hangs_until_its_callers_patience_is_over_is_counted_as_dropped() {
    captured(|| {
        on_this_thread(async {
            let (inbox, store, _) = faulty().await;
            let control = inbox.control();
            store.trouble(Verb::Check, Trouble::Hangs, 1);
            let host = inbox.start().unwrap();
            let check = counted(&control, StoreVerb::Check, |it| it.dropped == 1).await;
            assert!(check.errors == 0 && check.time > Duration::ZERO, "{check:?}");
            host.shutdown(Duration::ZERO).await;
        });
    });
}
