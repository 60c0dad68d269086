//! What a host relies on beside the pool: leases are renewed whatever handlers hold up.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod kit;
mod renew;
