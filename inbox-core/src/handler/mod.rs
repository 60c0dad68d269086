//! What runs: the handler behind its key, its options, what it may return.

pub(crate) mod batch;
mod descriptor;
mod error;
pub(crate) mod function;
mod options;
mod returns;

use std::pin::Pin;
use std::sync::Arc;

use crate::dispatch::Request;
use crate::settle::Outcomes;

pub use batch::{Batch, Commands};
pub use descriptor::HandlerDescriptor;
pub use error::{BoxError, Failure, HandlerError};
pub use options::HandlerOptions;
pub use returns::{BatchReturn, HandlerFailure, HandlerReturn};

/// What a handler's run will answer.
pub type HandlerFuture = Pin<Box<dyn Future<Output = Result<Outcomes, HandlerError>> + Send>>;

/// A handler whose types are erased: the registry holds one per key.
///
/// `#[handler]` writes it. A call is one virtual call, and allocates only the future of the
/// user's function.
pub trait Handler: Send + Sync + 'static {
    /// Decodes the command, extracts the arguments and runs the function.
    fn call(self: Arc<Self>, request: Request) -> HandlerFuture;
}
