use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::net::{TcpListener, lookup_host};
use tokio::task::{JoinHandle, JoinSet};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::Fault;
use super::control::Control;
use super::line::Line;

/// A proxy in front of a server. Gone with this value, and all connections through it.
pub struct FaultProxy {
    config: Config,
    control: Arc<Control>,
    accepting: JoinHandle<()>,
}

impl FaultProxy {
    /// Starts a proxy in front of the server that `config` names.
    ///
    /// # Errors
    /// When the server is not reached over TCP, or no port can be had.
    pub async fn before(config: &Config) -> io::Result<Self> {
        let target = address(config).await?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let control = Arc::new(Control::new(target));
        let accepting = tokio::spawn(accept(listener, Arc::clone(&control)));
        Ok(Self { config: through(config, address), control, accepting })
    }

    /// Leads to another server from now on, as after a failover. Connections to the old one are reset.
    ///
    /// # Errors
    /// When the server is not reached over TCP.
    pub async fn lead_to(&self, config: &Config) -> io::Result<()> {
        self.control.target.send_replace(address(config).await?);
        Ok(())
    }

    /// How to connect through it.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Breaks the network, until it is healed or broken in another way.
    pub fn set(&self, fault: Fault) {
        self.control.fault.send_replace(fault);
    }

    /// Mends the network.
    pub fn heal(&self) {
        self.set(Fault::None);
    }

    /// Breaks the network when clients have sent so many requests in all, with the next one: before it
    /// arrives, or, where the network is half open, before it is answered. For tests that break it
    /// everywhere, one place after the other.
    pub fn break_at(&self, requests: u64, fault: Fault) {
        self.control.break_at(requests, fault);
    }

    /// How many requests clients have sent: pieces of what they say, as the network carries them.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.control.requests()
    }

    /// How many pieces a black hole or a half-open network has swallowed so far. A test that heals the
    /// network waits for this first: what was not swallowed yet would arrive after all.
    #[must_use]
    pub fn swallowed(&self) -> u64 {
        self.control.swallowed()
    }

    /// Loses the answer to what is sent next and has one, on whatever connection: the server does what it
    /// was asked, and then the connection is reset.
    pub fn lose_next_reply(&self) {
        self.control.lose_next();
    }

    /// Loses the answer to the next request that contains `text`, such as `COMMIT\0`, whose text ends
    /// there. A statement that was prepared before does not contain its text any more.
    pub fn lose_reply_to(&self, text: &str) {
        self.control.lose_to(text);
    }

    /// Resets the connection instead of carrying the next request that contains `text`, of which the
    /// server then hears nothing.
    pub fn cut_before(&self, text: &str) {
        self.control.cut_before(text);
    }

    /// How many answers and requests were lost on purpose.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.control.lost()
    }
}

async fn accept(listener: TcpListener, control: Arc<Control>) {
    // Dropped with this task, and all connections with it.
    let mut lines = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        while lines.try_join_next().is_some() {}
        lines.spawn(Line::run(client, Arc::clone(&control)));
    }
}

/// The address of the server that `config` names.
async fn address(config: &Config) -> io::Result<SocketAddr> {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        _ => return Err(io::Error::other("the server is not reached over TCP")),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let target = lookup_host((host, port)).await?.next();
    target.ok_or_else(|| io::Error::other("the server's name has no address"))
}

/// The same configuration with another address.
fn through(config: &Config, address: SocketAddr) -> Config {
    let mut through = Config::new();
    through.host(address.ip().to_string()).port(address.port());
    config.get_user().map(|user| through.user(user));
    config.get_password().map(|password| through.password(password));
    config.get_dbname().map(|name| through.dbname(name));
    config.get_options().map(|options| through.options(options));
    through
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl fmt::Debug for FaultProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = *self.control.fault.borrow();
        f.debug_struct("FaultProxy").field("fault", &fault).finish_non_exhaustive()
    }
}
