use inbox_core::message::MessageId;
use inbox_core::store::{Lane, Wanted};

use super::bench::Bench;
use super::{DONE, Held, ids, ordered, running};

/// A lane of messages without a tenant.
pub(crate) fn lane(handler_key: &str, ordering_key: &str) -> Lane {
    Lane {
        handler_key: handler_key.to_owned(),
        tenant: String::new(),
        ordering_key: ordering_key.to_owned(),
    }
}

/// Accepts so many of `pay` with the ordering key `a`, one after the other.
pub(crate) async fn accept_lane(bench: &Bench, count: usize) -> Vec<MessageId> {
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(bench.accept_one(ordered("pay", "a")).await);
    }
    all
}

/// One lane of `charge`, at most so many deliveries of it.
pub(crate) async fn run_of(bench: &Bench, length: u32) -> Vec<Held> {
    bench.lease_wanted(vec![running("charge", 100, 1, length)]).await
}

/// Works off all that can be, claim by claim, and answers in which order.
pub(crate) async fn drain(bench: &Bench, wanted: Vec<Wanted>) -> Vec<MessageId> {
    let mut run = Vec::new();
    loop {
        let held = bench.lease_wanted(wanted.clone()).await;
        if held.is_empty() {
            return run;
        }
        run.extend(ids(&held));
        let settles = held.iter().map(|held| held.settle(DONE)).collect();
        assert!(bench.settle_all(settles).await.iter().all(Result::is_ok), "each was held");
    }
}
