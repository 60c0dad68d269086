use crate::message::PayloadError;

/// A command could not be written as a payload.
#[derive(Debug, thiserror::Error)]
#[error("a command of contract `{contract}` has no JSON form")]
pub struct EncodeError {
    pub(crate) contract: &'static str,
    #[source]
    pub(crate) source: PayloadError,
}
