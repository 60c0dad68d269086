//! What runs: the handler behind its key, its options, what it may return.

pub(crate) mod batch;
pub(crate) mod command;
mod decode;
mod descriptor;
pub(crate) mod function;
mod returns;
mod service;

use std::pin::Pin;
use std::sync::Arc;

use crate::outcome::{HandlerError, Outcomes};
use crate::request::Request;

pub use batch::{Batch, Commands};
pub use command::ContractRef;
pub use descriptor::HandlerDescriptor;
pub use returns::{BatchReturn, HandlerReturn};
pub use service::HandlerService;

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
