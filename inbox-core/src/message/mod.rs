//! One message: what was accepted once and is never changed.

mod envelope;
mod headers;
mod id;
mod payload;
mod redact;

pub use envelope::Envelope;
pub use headers::Headers;
pub use id::{MessageId, ParseMessageIdError};
pub use payload::{Payload, PayloadError};
