//! Each role does its part, and nothing else.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod attack;
mod kit;
mod matrix;
mod parts;
mod script;
