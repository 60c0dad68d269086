use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::message::{Payload, PayloadError};

/// A type that can be stored and read back: one with serde's two traits that owns its data.
#[diagnostic::on_unimplemented(
    message = "the contract `{Self}` cannot be stored and read back",
    label = "not serializable, or not `Send`, or it borrows",
    note = "add `#[derive(serde::Serialize, serde::Deserialize)]` to `{Self}`; all its fields need \
            them too, and owned data such as `String` for `&str`"
)]
pub trait Durable: Sized + Send + 'static {
    /// Writes the value as a payload.
    ///
    /// # Errors
    /// When the value has no JSON form, such as a map whose keys are not strings.
    fn to_payload(&self) -> Result<Payload, PayloadError>;

    /// Reads a value that was written as `payload`.
    ///
    /// # Errors
    /// When the bytes are not JSON or the JSON does not fit the type.
    fn from_payload(payload: &Payload) -> Result<Self, PayloadError>;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + Send + 'static> Durable for T {
    fn to_payload(&self) -> Result<Payload, PayloadError> {
        Payload::encode(self)
    }

    fn from_payload(payload: &Payload) -> Result<Self, PayloadError> {
        payload.decode()
    }
}
