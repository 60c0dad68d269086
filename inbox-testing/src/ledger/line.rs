//! An entry as a line of text: fields between tabs, the last one a mark.
//!
//! The mark shows that nothing is missing: the first digits of a number are a number too.

use super::Entry;
use super::fields::{Fields, Torn, escape, expires_at, optional, token};

const END: &str = ";";

/// The bytes to append. A line starts with a line break as well as ending with one, so that it
/// stands alone even after one that was cut off.
pub(super) fn encode(entry: &Entry) -> String {
    let fields = match entry {
        Entry::Accepted { message_id, contract, ordering_key, at } => vec![
            "accepted".to_owned(),
            message_id.to_string(),
            escape(contract),
            optional(ordering_key.as_deref()),
            at.as_micros().to_string(),
        ],
        Entry::Started { message_id, handler_key, attempt, lease, at, process } => vec![
            "started".to_owned(),
            message_id.to_string(),
            escape(handler_key),
            attempt.to_string(),
            token(*lease),
            expires_at(*lease),
            at.as_micros().to_string(),
            process.to_string(),
        ],
        Entry::Finished { message_id, handler_key, attempt, lease, ok, at } => vec![
            "finished".to_owned(),
            message_id.to_string(),
            escape(handler_key),
            attempt.to_string(),
            token(*lease),
            expires_at(*lease),
            at.as_micros().to_string(),
            ok.to_string(),
        ],
    };
    format!("\n{}\t{END}\n", fields.join("\t"))
}

/// The entry on a line that is all there.
pub(super) fn decode(line: &str) -> Result<Entry, Torn> {
    let mut fields = Fields::of(line);
    let entry = match fields.next()? {
        "accepted" => Entry::Accepted {
            message_id: fields.parsed()?,
            contract: fields.text()?,
            ordering_key: fields.optional()?,
            at: fields.time()?,
        },
        "started" => Entry::Started {
            message_id: fields.parsed()?,
            handler_key: fields.text()?,
            attempt: fields.parsed()?,
            lease: fields.lease()?,
            at: fields.time()?,
            process: fields.parsed()?,
        },
        "finished" => Entry::Finished {
            message_id: fields.parsed()?,
            handler_key: fields.text()?,
            attempt: fields.parsed()?,
            lease: fields.lease()?,
            at: fields.time()?,
            ok: fields.parsed()?,
        },
        _ => return Err(Torn),
    };
    match (fields.next(), fields.next()) {
        (Ok(END), Err(Torn)) => Ok(entry),
        _ => Err(Torn),
    }
}
