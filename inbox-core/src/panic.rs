//! Code of users that may panic: it is caught at its edge.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a panic said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Panicked(pub(crate) String);

pub(crate) fn caught<T>(code: impl FnOnce() -> T) -> Result<T, Panicked> {
    // What a panic leaves half-done belongs to the request, which ends with it.
    catch_unwind(AssertUnwindSafe(code)).map_err(|payload| {
        let error = panicked(&*payload);
        // Dropping what a panic carries may panic again.
        std::mem::forget(payload);
        error
    })
}

fn panicked(payload: &(dyn Any + Send)) -> Panicked {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    Panicked(text.unwrap_or("it said nothing").to_owned())
}

/// Drops what a user made. A panic of its `Drop` is logged and goes no further.
pub fn dispose<T>(value: T) {
    if let Err(Panicked(message)) = caught(|| drop(value)) {
        tracing::warn!(message, "a handler's value panicked while it was dropped");
    }
}
