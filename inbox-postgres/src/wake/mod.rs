//! What a host needs apart from the pool: leases renewed whatever handlers hold up.

mod apart;
mod renewer;

pub(crate) use renewer::RenewerApart;
