//! The test kit of `inbox`: what users test their handlers with, and what stores are tested with.

pub mod conformance;
pub mod ledger;
