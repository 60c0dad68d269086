//! How workers learn that something may be ready, and what a host needs beside the pool: leases renewed
//! whatever handlers hold up.

mod apart;
mod direct;
mod listen;
mod news;
mod notifier;
mod renewer;

pub(crate) use direct::Direct;
pub(crate) use notifier::Notifier;
pub(crate) use renewer::RenewerApart;
