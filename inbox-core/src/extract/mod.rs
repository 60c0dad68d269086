//! What a handler may ask for besides the command.

mod context;
mod headers;
mod loan;
mod provided;
mod setup;
mod state;

use crate::error::Rejection;
use crate::provide::Missing;
use crate::request::Request;

pub use context::Context;
pub use loan::Loan;
pub use setup::Setup;

pub(crate) use provided::Provided;
pub use state::{Shareable, State};

/// An argument of a handler, after the command.
///
/// What can be found at start-up is found there: [`prepare`](Self::prepare) runs once for every
/// handler that takes the argument, [`extract`](Self::extract) once for every run.
///
/// ```standalone_crate
/// use inbox::Request;
/// use inbox::extract::{Extract, Missing, Rejection, Setup};
///
/// struct TraceId(String);
///
/// impl Extract for TraceId {
///     type Prepared = ();
///
///     fn prepare(_: &Setup<'_>) -> Result<(), Missing> {
///         Ok(())
///     }
///
///     fn extract(_: &(), request: &Request) -> Result<Self, Rejection> {
///         let headers = &request.delivery().message.headers;
///         let trace = headers.get("trace-id").ok_or("the header `trace-id` is missing")?;
///         Ok(TraceId(trace.to_owned()))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not something a handler can be given",
    label = "not an extractor",
    note = "after the command a handler takes extractors: `State<T>`, `Context`, `Headers`",
    note = "for a value that the builder got with `.state(value)`, write `State<{Self}>`",
    note = "what the store or a layer lends, such as a transaction, is borrowed: write `&mut {Self}`"
)]
pub trait Extract: Sized + Send {
    /// What is found once, at start-up.
    type Prepared: Send + Sync + 'static;

    /// Finds what every run will need.
    ///
    /// # Errors
    /// When it was never provided. The registry then reports it, together with everything else.
    fn prepare(setup: &Setup<'_>) -> Result<Self::Prepared, Missing>;

    /// Makes the argument for one run, from what the request holds. What must be waited for belongs
    /// in a layer, which can [lend](crate::provide::Lend) it.
    ///
    /// # Errors
    /// When this request cannot give it; the handler then does not run.
    fn extract(prepared: &Self::Prepared, request: &Request) -> Result<Self, Rejection>;
}

/// An extractor that makes sense for a whole batch, because it reads no single message.
#[diagnostic::on_unimplemented(
    message = "`{Self}` belongs to one message, and a batch has many",
    label = "not for a handler with `batch`",
    note = "`Batch::iter` gives each command with its message id; `State<T>` works in a batch too",
    note = "if it is your own and reads no single message, write \
            `impl inbox::extract::ExtractBatch for {Self} {{}}`"
)]
pub trait ExtractBatch: Extract {}
