//! What a handler may ask for, and what is said where it is missing.

use std::any::type_name;

/// A value that a layer lends and a handler takes as `&mut T`, such as a transaction.
///
/// The layer calls `Request::lend` before the handler and `Request::reclaim` after it, and
/// the builder is told with `.lends::<T>()`, so that a handler no layer serves fails at start-up.
///
/// ```standalone_crate
/// use inbox::{Lend, handler, inbox_contract};
///
/// struct Ledger {
///     entries: Vec<i64>,
/// }
///
/// impl Lend for Ledger {}
///
/// #[inbox_contract(name = "book", version = 1)]
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Book { amount: i64 }
///
/// #[handler(key = "book")]
/// async fn book(command: Book, ledger: &mut Ledger) {
///     ledger.entries.push(command.amount);
/// }
///
/// # fn main() -> Result<(), inbox::RegistryError> {
/// let registry = inbox::Registry::builder().lends::<Ledger>().build()?;
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "no layer can lend a `{Self}` to a handler",
    label = "not lent by any layer",
    note = "only what a layer lends is taken as `&mut`: write `State<{Self}>` for a value of the \
            builder's `.state(value)`",
    note = "if a layer of yours lends it, write `impl inbox::Lend for {Self} {{}}`"
)]
pub trait Lend: Send + 'static {
    /// What is said at start-up where nothing lends it.
    #[must_use]
    fn missing() -> Missing
    where
        Self: Sized,
    {
        Missing::Lender { type_name: type_name::<Self>() }
    }
}

/// Something a handler asks for that it cannot have.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missing {
    /// A value for `State<T>`.
    State {
        /// The type `T`.
        type_name: &'static str,
    },
    /// A layer that lends the value taken as `&mut T`.
    Lender {
        /// The type `T`.
        type_name: &'static str,
    },
    /// What a user's own extractor needs.
    Other {
        /// What is wrong, such as ``the table `users` was never provided``.
        what: String,
        /// What to write, such as ``give the builder `.state(users)` ``.
        fix: String,
    },
}
