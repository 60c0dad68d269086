use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::sleep;

use super::Fault;
use super::control::Control;

/// How an answer of PostgreSQL ends: it is ready for the next question, in a state that the last byte
/// tells.
const END_OF_ANSWER: [u8; 5] = [b'Z', 0, 0, 0, 5];

/// One connection through the proxy.
pub(super) struct Line {
    control: Arc<Control>,
    /// Something was swallowed, so that it cannot go on.
    is_damaged: AtomicBool,
    /// The answer that comes next is to be lost.
    loses: AtomicBool,
}

impl Line {
    /// Carries bytes until one side closes or the network breaks.
    pub(super) async fn run(mut client: TcpStream, control: Arc<Control>) -> io::Result<()> {
        // Dropped, it is reset, not closed with good manners: so it is lent in halves below, for a half
        // that is owned says goodbye.
        client.set_zero_linger()?;
        client.set_nodelay(true)?;
        let mut fault = control.fault.subscribe();
        let line =
            Self { control, is_damaged: AtomicBool::new(false), loses: AtomicBool::new(false) };
        if *fault.borrow() == Fault::Reset {
            return Ok(());
        }
        let mut target = line.control.target.subscribe();
        let address = *target.borrow_and_update();
        let mut server = TcpStream::connect(address).await?;
        server.set_nodelay(true)?;
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        let broken = async {
            loop {
                let now = *fault.borrow_and_update();
                let healed = matches!(now, Fault::None | Fault::Delay(_));
                let damaged = line.is_damaged.load(Ordering::SeqCst);
                if now == Fault::Reset || (healed && damaged) || fault.changed().await.is_err() {
                    return Ok(());
                }
            }
        };
        tokio::select! {
            carried = line.up(from_client, to_server) => carried,
            carried = line.down(from_server, to_client) => carried,
            ended = broken => ended,
            _ = target.changed() => Ok(()),
        }
    }

    /// From the client to the server.
    async fn up(&self, mut from: ReadHalf<'_>, mut to: WriteHalf<'_>) -> io::Result<()> {
        let mut bytes = vec![0; 64 * 1024];
        loop {
            let count = from.read(&mut bytes).await?;
            if count == 0 {
                return Ok(());
            }
            self.control.request();
            match self.fault().await {
                Fault::BlackHole => self.is_damaged.store(true, Ordering::SeqCst),
                _ => {
                    if self.control.cuts(&bytes[..count]) {
                        self.control.count();
                        return Ok(());
                    }
                    if self.control.loses(&bytes[..count]) {
                        self.loses.store(true, Ordering::SeqCst);
                    }
                    to.write_all(&bytes[..count]).await?;
                }
            }
        }
    }

    /// From the server to the client.
    async fn down(&self, mut from: ReadHalf<'_>, mut to: WriteHalf<'_>) -> io::Result<()> {
        let mut bytes = vec![0; 64 * 1024];
        let mut end = Vec::new();
        loop {
            let count = from.read(&mut bytes).await?;
            if count == 0 {
                return Ok(());
            }
            if self.loses.load(Ordering::SeqCst) {
                end.extend_from_slice(&bytes[..count]);
                end.drain(..end.len().saturating_sub(END_OF_ANSWER.len() + 1));
                if end.starts_with(&END_OF_ANSWER) {
                    // The server has done what it was asked, and nobody will know.
                    self.control.count();
                    return Ok(());
                }
                continue;
            }
            match self.fault().await {
                Fault::BlackHole | Fault::HalfOpen => self.is_damaged.store(true, Ordering::SeqCst),
                _ => to.write_all(&bytes[..count]).await?,
            }
        }
    }

    /// The state of the network, after its delay.
    async fn fault(&self) -> Fault {
        let fault = *self.control.fault.borrow();
        if let Fault::Delay(time) = fault {
            sleep(time).await;
        }
        fault
    }
}
