#![cfg_attr(feature = "sqlite", doc = include_str!("../../README.md"))]
#![cfg_attr(not(feature = "sqlite"), doc = "Durable commands and messages for Rust services.")]
//!
//! # Where things are
//!
//! The nouns people type stand at the root; the rest is by topic: [`schedule`] (a command on its way
//! in), [`store`] (what a store promises), [`dispatch`] (the request that layers see), [`settle`] (what
//! becomes of it), [`hosting`] (an inbox at work), [`registry`] (what this binary registered),
//! [`extract`] (what a handler may ask for), [`message`] and [`policy`].

pub use inbox_core::Timestamp;
pub use inbox_core::contract::Contract;
pub use inbox_core::extract::{Context, Extract, State};
pub use inbox_core::handler::Batch;
pub use inbox_core::message::{Headers, MessageId};
pub use inbox_core::outcome::{HandlerError, Outcome, Outcomes};
pub use inbox_core::provide::Lend;
pub use inbox_core::registry::{ContractsWithoutHandler, Registry, RegistryError};
pub use inbox_core::request::Request;
pub use inbox_core::schedule::{Acceptance, Receipt, ScheduleOptions, Scheduler};
pub use inbox_hosting::{Error, HostHandle, Inbox, shutdown_signal};

#[doc(inline)]
pub use inbox_macros::{contract, handler, handlers, inbox_contract};

#[doc(hidden)]
pub use inbox_core::__private;

/// Everything this binary registered: contracts, handlers, and what keeps them from running.
pub mod registry {
    pub use inbox_core::Location;
    pub use inbox_core::contract::{ContractDescriptor, KeyTemplates, Lineage};
    pub use inbox_core::handler::{ContractRef, HandlerDescriptor};
    pub use inbox_core::policy::HandlerOptions;
    pub use inbox_core::registry::{
        Catalog, ContractsWithoutHandler, Problem, RegisteredHandler, Registry, RegistryBuilder,
        RegistryError,
    };
}

/// What a handler may ask for, and how to add to it.
pub mod extract {
    pub use inbox_core::error::Rejection;
    pub use inbox_core::extract::{Context, Extract, ExtractBatch, Loan, Setup, Shareable, State};
    pub use inbox_core::provide::{Lend, Missing};
}

/// A delivery on its way through the layers to its handler, and what comes of it.
pub mod dispatch {
    pub use inbox_core::contract::DecodeError;
    pub use inbox_core::dispatch::{Layers, Pipeline};
    pub use inbox_core::error::{BoxError, Failure, HandlerFailure};
    pub use inbox_core::handler::{
        BatchReturn, Commands, Handler, HandlerFuture, HandlerReturn, HandlerService,
    };
    pub use inbox_core::message::{Delivery, Shares};
    pub use inbox_core::outcome::{CancelCause, HandlerError, Outcome, Outcomes};
    pub use inbox_core::request::{Attempt, CancellationToken, HeldLease, Request};
}

/// A command on its way into a store: how it is to be accepted, what no store would take, and the
/// receipt for it.
pub mod schedule {
    pub use inbox_core::schedule::{
        About, Acceptance, Codec, Limits, OnConflict, Priority, Receipt, ScheduleError,
        ScheduleOptions, Scheduler, Start, TransactionOf, prepare,
    };
}

/// What a store promises, for whoever writes one or looks into one.
pub mod store {
    pub use inbox_core::schedule::{BulkReceipt, BulkWriter, Envelopes};
    pub use inbox_core::store::*;
    pub use inbox_core::{Clock, Now, StoreClock};
}

/// What becomes of a delivery after its handler ran.
pub mod settle {
    pub use inbox_core::outcome::{Decision, RetryLimits, Tries, decide};
    pub use inbox_core::settle::*;
}

/// An inbox at work: what a program says before it starts, the host that goes on until it is told to
/// stop, and what it reports.
pub mod hosting {
    pub use inbox_hosting::{
        ChoreName, DeliveryInfo, Event, Health, HostControl, HostError, HostHandle, HostLoop,
        HostPhase, InboxBuilder, Load, LoopHealth, MeterReading, Observer, PendingReport,
        RunNowError, ShutdownReport, StoreVerb, VerbCounts, shutdown_signal,
    };
}

/// The embedded store: SQLite in a file or in memory. Needs the feature `sqlite`.
#[cfg(feature = "sqlite")]
pub mod sqlite {
    #[doc(no_inline)]
    pub use inbox_sqlite::rusqlite;
    pub use inbox_sqlite::{SqliteOptions, SqliteStore, WithinTransaction, in_memory, open};
}

/// The PostgreSQL store, which a fleet shares. Needs the feature `postgres`.
#[cfg(feature = "postgres")]
pub mod postgres {
    pub use inbox_postgres::{
        PostgresOptions, PostgresStore, Tls, Transaction, TransactionError, WithinTransaction,
        connect,
    };
    #[doc(no_inline)]
    pub use inbox_postgres::{deadpool_postgres, tokio_postgres};
}

/// The test kit. Needs the feature `testing`.
#[cfg(feature = "testing")]
pub mod testing {
    pub use inbox_testing::*;
}

/// One message, what it is made of, and the envelope it is accepted in.
pub mod message {
    pub use inbox_core::ParseTimestampError;
    pub use inbox_core::contract::{Durable, EncodeError, KeyPart, UpgradesFrom};
    pub use inbox_core::message::{
        Carry, Envelope, Headers, Message, MessageId, ParseMessageIdError, Payload, PayloadError,
    };
}

/// Numbers that decide about retries and limits.
pub mod policy {
    pub use inbox_core::policy::{
        Backoff, Batching, Concurrency, Delays, Jitter, Rate, RetryPolicy,
    };
}

// The code in guides is compiled like any other.
#[cfg(all(doctest, feature = "testing"))]
#[doc = include_str!("../../docs/guides/write-your-own-store.md")]
struct WriteYourOwnStore;

#[cfg(doctest)]
#[doc = include_str!("../../docs/guides/host.md")]
struct Host;

#[cfg(all(doctest, feature = "testing"))]
#[doc = include_str!("../../docs/guides/outcomes.md")]
struct OutcomesGuide;

#[cfg(doctest)]
#[doc = include_str!("../../docs/guides/order.md")]
struct Order;

#[cfg(doctest)]
#[doc = include_str!("../../docs/guides/operate.md")]
struct Operate;

#[cfg(all(doctest, feature = "postgres"))]
#[doc = include_str!("../../docs/guides/exactly-once.md")]
struct ExactlyOnce;

#[cfg(all(doctest, feature = "postgres"))]
#[doc = include_str!("../../docs/guides/postgres.md")]
struct Postgres;

#[cfg(all(doctest, feature = "sqlite"))]
#[doc = include_str!("../../docs/guides/rename.md")]
struct Rename;

#[cfg(all(doctest, feature = "postgres"))]
#[doc = include_str!("../../docs/guides/schema.md")]
struct Schema;

#[cfg(all(doctest, feature = "postgres"))]
#[doc = include_str!("../../docs/guides/transactions.md")]
struct Transactions;

#[cfg(all(doctest, feature = "postgres"))]
#[doc = include_str!("../../docs/guides/roles-and-poolers.md")]
struct RolesAndPoolers;
