//! Claims and settlements that meet at one lane, brought there one after the other: nobody waits for ever, nothing
//! runs twice or out of turn, and nothing is left for `mend`.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod bench;
mod claims;
mod ends;
#[path = "../reach/mod.rs"]
mod reach;
