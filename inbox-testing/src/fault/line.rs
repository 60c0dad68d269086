use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::sleep;

use super::Fault;
use super::control::{Control, Lose, held};

/// How an answer of PostgreSQL ends: it is ready for the next question, in a state that the last byte
/// tells.
const END_OF_ANSWER: [u8; 5] = [b'Z', 0, 0, 0, 5];

/// One connection through the proxy.
pub(super) struct Line {
    control: Arc<Control>,
    /// What the client sent was swallowed, so nothing that follows it may arrive.
    lost_up: AtomicBool,
    /// What the server answered was swallowed, so nothing that follows it may arrive.
    lost_down: AtomicBool,
    /// Why the answer that comes next is to be lost, if it is.
    loses: Mutex<Option<Lose>>,
}

impl Line {
    /// Carries bytes until one side closes or the network breaks.
    pub(super) async fn run(mut client: TcpStream, control: Arc<Control>) -> io::Result<()> {
        // Dropped, it is reset, not closed with good manners: so it is lent in halves below, for a half
        // that is owned says goodbye.
        client.set_zero_linger()?;
        client.set_nodelay(true)?;
        let mut fault = control.fault.subscribe();
        let (lost_up, lost_down) = (AtomicBool::new(false), AtomicBool::new(false));
        let line = Self { control, lost_up, lost_down, loses: Mutex::default() };
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
                if line.breaks_with(now) || fault.changed().await.is_err() {
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
                // This connection ends here too: its other futures may not have been polled yet.
                fault if self.breaks_with(fault) => return Ok(()),
                Fault::BlackHole => self.swallow(&self.lost_up),
                _ if self.lost_up.load(Ordering::SeqCst) => {}
                _ => {
                    if self.control.cuts(&bytes[..count]) {
                        self.control.count();
                        return Ok(());
                    }
                    if let Some(lose) = self.control.loses(&bytes[..count]) {
                        *held(&self.loses) = Some(lose);
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
            if held(&self.loses).is_some() {
                end.extend_from_slice(&bytes[..count]);
                end.drain(..end.len().saturating_sub(END_OF_ANSWER.len() + 1));
                if end.starts_with(&END_OF_ANSWER) {
                    // The server has done what it was asked, and nobody will know.
                    held(&self.loses).take();
                    self.control.count();
                    return Ok(());
                }
                continue;
            }
            match self.fault().await {
                fault if self.breaks_with(fault) => return Ok(()),
                Fault::BlackHole | Fault::HalfOpen => self.swallow(&self.lost_down),
                _ => to.write_all(&bytes[..count]).await?,
            }
        }
    }

    fn swallow(&self, direction: &AtomicBool) {
        direction.store(true, Ordering::SeqCst);
        self.control.swallow();
    }

    /// Whether the connection is reset in this state of the network. A network that heals does not bring
    /// back what it lost, and a stream with a gap is no stream.
    fn breaks_with(&self, fault: Fault) -> bool {
        let has_lost = |direction: &AtomicBool| direction.load(Ordering::SeqCst);
        match fault {
            Fault::Reset => true,
            Fault::None | Fault::Delay(_) => has_lost(&self.lost_up) || has_lost(&self.lost_down),
            Fault::BlackHole | Fault::HalfOpen => false,
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

// However the connection ended.
impl Drop for Line {
    fn drop(&mut self) {
        if let Some(lose) = held(&self.loses).take() {
            self.control.loses_still(lose);
        }
    }
}
