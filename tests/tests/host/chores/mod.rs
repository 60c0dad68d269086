//! The maintenance duties of a host, each a service of its own.

mod apart;
mod effects;
mod kit;
mod pace;
