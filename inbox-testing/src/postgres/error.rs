use std::path::PathBuf;

/// No PostgreSQL for tests can be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// There is no server on this machine.
    #[error(
        "no PostgreSQL server is installed: install one (Debian: `apt-get install postgresql`), or \
         name a running one with DATABASE_URL=postgres://user:password@host/database"
    )]
    NotInstalled,
    /// There is no pooler on this machine.
    #[error("PgBouncer is not installed: install it (Debian: `apt-get install pgbouncer`)")]
    NoPooler,
    /// The server for this process could not be started.
    #[error("there is no server for tests: {reason}")]
    Unavailable {
        /// What the first one who tried was told.
        reason: String,
    },
    /// A program of PostgreSQL failed.
    #[error("{program} failed: {output}")]
    Failed {
        /// The program.
        program: String,
        /// What it said.
        output: String,
    },
    /// The server does not answer.
    #[error("the server in {} does not answer: {reason}", directory.display())]
    Silent {
        /// Where it keeps its data and its log.
        directory: PathBuf,
        /// What its log or the last try said.
        reason: String,
    },
    /// Something around it failed.
    #[error("{what}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// The database refused something.
    #[error("the database refused to {what}")]
    Database {
        /// What was tried.
        what: String,
        /// Why it failed.
        #[source]
        source: tokio_postgres::Error,
    },
}

/// Says what was tried when something around the server failed.
pub(super) fn io(what: &str) -> impl FnOnce(std::io::Error) -> PostgresError + use<> {
    let what = what.to_owned();
    move |source| PostgresError::Io { what, source }
}
