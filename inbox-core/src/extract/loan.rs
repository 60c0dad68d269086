use std::any::type_name;
use std::ops::{Deref, DerefMut};

use crate::error::Rejection;
use crate::request::Request;

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
