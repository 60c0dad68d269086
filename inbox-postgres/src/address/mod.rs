//! A database's address: what it says about TLS is ours to read, all else the driver's.

mod key;
mod read;
mod url;
mod words;

pub(crate) use read::read;
