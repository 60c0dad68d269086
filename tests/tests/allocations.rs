//! Dispatch allocates nothing of its own: the one allocation is the future of the user's function.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use inbox::{Context, Headers, Registry, State, handler, inbox_contract};
use inbox_tests::deliver::{delivery, request};
use serde::{Deserialize, Serialize};
use tower::Service as _;

#[inbox_contract(name = "tick", version = 1)]
#[derive(Serialize, Deserialize)]
struct Tick(u64);

#[handler(key = "bare")]
async fn bare(command: Tick) {
    assert_eq!(command.0, 7);
}

#[handler(key = "full")]
async fn full(
    command: Tick,
    state: State<Arc<str>>,
    context: Context,
    headers: Headers,
) -> Result<(), String> {
    assert_eq!((command.0, &**state, context.attempt()), (7, "shared", 1));
    assert_eq!(headers.get("trace"), Some("abc"));
    Ok(())
}

#[test]
fn a_run_allocates_the_users_future_and_nothing_else() {
    let registry = Registry::builder().state(Arc::<str>::from("shared")).build().unwrap();
    for key in ["bare", "full"] {
        let mut service = registry.handler(key).unwrap().service();
        let mut delivery = delivery(&Tick(7), key);
        delivery.message.headers = [("trace", "abc")].into_iter().collect();
        let request = request(delivery);
        let counted = allocation_counter::measure(|| {
            let mut run = pin!(service.call(request.clone()));
            let polled = run.as_mut().poll(&mut TaskContext::from_waker(Waker::noop()));
            assert!(matches!(polled, Poll::Ready(Ok(_))));
        });
        assert_eq!(counted.count_total, 1, "{key}: {counted:?}");
    }
}
