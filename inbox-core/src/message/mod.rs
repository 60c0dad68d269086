//! One message, what it is made of, and the envelope it is accepted in.

mod content;
mod envelope;
mod flaw;
mod headers;
mod id;
mod payload;
mod redact;
mod same;

pub use content::Message;
pub use envelope::Envelope;
pub use headers::Headers;
pub use id::{MessageId, ParseMessageIdError};
pub use payload::{Payload, PayloadError};
