use std::any::type_name;
use std::ops::{Deref, DerefMut};

use super::{Missing, Rejection};
use crate::dispatch::Request;

/// A value that a layer lends and a handler takes as `&mut T`, such as a transaction.
///
/// The layer calls [`Request::lend`] before the handler and [`Request::reclaim`] after it, and
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

/// What stands behind an argument `&mut T` while the handler runs.
///
/// It is given back when the handler has returned. Dropped before that, with the handler's
/// future, it drops the value: a transaction cut off in the middle must not go on.
#[derive(Debug)]
pub struct Loan<T> {
    value: T,
    request: Request,
}

impl<T: Send + 'static> Loan<T> {
    /// Takes what a layer lent to `request`.
    ///
    /// # Errors
    /// When nothing was lent, or it is out already.
    pub fn take(request: &Request) -> Result<Self, Rejection> {
        match request.take_loan::<T>() {
            Some(value) => Ok(Self { value, request: request.clone() }),
            None => Err(format!("no layer lent a `{}` to this run", type_name::<T>()).into()),
        }
    }

    /// Returns the value to the layer that lent it.
    pub fn give_back(self) {
        self.request.put_loan(self.value);
    }
}

impl<T> Deref for Loan<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Loan<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}
