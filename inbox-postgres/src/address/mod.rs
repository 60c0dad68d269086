//! A database's address: what it says about TLS and poolers is ours to read, all else the driver's.

mod key;
mod read;
mod unread;
mod url;
mod words;

pub(crate) use read::read;
pub(crate) use unread::Address;
