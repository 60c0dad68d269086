use deadpool_postgres::{PoolError, TimeoutType};
use inbox_core::store::StoreError;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, Socket};

use crate::error::unreachable;
use crate::tls::Connector;

/// The connection itself, which does nothing unless it is polled.
pub(super) type Wire = Connection<Socket, <Connector as MakeTlsConnect<Socket>>::Stream>;

/// What a connection to listen on says of itself, where the application says nothing.
const NAME: &str = "inbox listener";

/// How to connect beside the pool, and past a pooler.
pub(crate) struct Direct {
    config: Config,
    tls: Connector,
    place: String,
}

impl Direct {
    pub(crate) fn new(mut config: Config, tls: Connector, place: String) -> Self {
        if config.get_application_name().is_none() {
            config.application_name(NAME);
        }
        Self { config, tls, place }
    }

    pub(super) async fn connect(&self) -> Result<(Client, Wire), StoreError> {
        let connected = self.config.connect(self.tls.clone()).await;
        connected.map_err(|error| unreachable(error.into(), &self.place))
    }

    /// It took too long.
    pub(super) fn silent(&self) -> StoreError {
        unreachable(PoolError::Timeout(TimeoutType::Create), &self.place)
    }
}
