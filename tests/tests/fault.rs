//! The network that fails does what it says, in front of a server that repeats what it hears.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::io::ErrorKind;
use std::time::Duration;

use inbox::postgres::tokio_postgres::Config;
use inbox::testing::fault::{Fault, FaultProxy};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

/// Longer than anything takes that arrives, however busy the machine is.
const PATIENCE: Duration = Duration::from_mins(10);

/// So long nothing is heard of what does not arrive.
const SILENCE: Duration = Duration::from_millis(200);

/// Tries of what goes wrong only where two things meet.
const CONNECTIONS: usize = 50;

/// What the server answers nothing to, and closes the connection.
const LEAVE: &str = "leave";

/// How PostgreSQL ends its answers.
const END: &[u8] = b"Z\0\0\0\x05I";

struct Server {
    proxy: FaultProxy,
    heard: mpsc::UnboundedReceiver<Vec<u8>>,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let mut config = Config::new();
        config.host("127.0.0.1").port(listener.local_addr().unwrap().port());
        let (tell, heard) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let tell = tell.clone();
                tokio::spawn(async move {
                    let mut bytes = [0; 100];
                    while let Ok(count @ 1..) = client.read(&mut bytes).await {
                        let _ = tell.send(bytes[..count].to_vec());
                        if &bytes[..count] == LEAVE.as_bytes() {
                            return;
                        }
                        let answer = [&bytes[..count], END].concat();
                        if client.write_all(&answer).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { proxy: FaultProxy::before(&config).await.unwrap(), heard }
    }

    async fn connect(&self) -> TcpStream {
        let port = self.proxy.config().get_ports()[0];
        TcpStream::connect(("127.0.0.1", port)).await.unwrap()
    }

    /// Waits until the network has swallowed so many pieces.
    async fn has_swallowed(&self, pieces: u64) {
        let swallowed = async {
            while self.proxy.swallowed() < pieces {
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, swallowed).await.unwrap();
    }

    async fn hears(&mut self, text: &str) {
        let heard = timeout(PATIENCE, self.heard.recv()).await.unwrap().unwrap();
        assert_eq!(heard, text.as_bytes());
    }
}

async fn says(client: &mut TcpStream, text: &str) {
    client.write_all(text.as_bytes()).await.unwrap();
}

async fn is_answered(client: &mut TcpStream, text: &str) {
    let expected = [text.as_bytes(), END].concat();
    let mut answer = vec![0; expected.len()];
    timeout(PATIENCE, client.read_exact(&mut answer)).await.unwrap().unwrap();
    assert_eq!(answer, expected);
}

async fn is_silent(client: &mut TcpStream) {
    let silence = timeout(SILENCE, client.read(&mut [0; 1])).await;
    assert!(silence.is_err(), "{silence:?}");
}

async fn is_reset(client: &mut TcpStream) {
    let error = timeout(PATIENCE, client.read(&mut [0; 1])).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
}

#[tokio::test]
async fn a_reset_ends_every_connection_until_it_is_healed() {
    let mut server = Server::start().await;
    let mut old = server.connect().await;
    says(&mut old, "one").await;
    is_answered(&mut old, "one").await;
    server.hears("one").await;
    server.proxy.set(Fault::Reset);
    is_reset(&mut old).await;
    is_reset(&mut server.connect().await).await;
    server.proxy.heal();
    let mut new = server.connect().await;
    says(&mut new, "two").await;
    is_answered(&mut new, "two").await;
    server.hears("two").await;
}

#[tokio::test]
async fn a_black_hole_swallows_both_ways_and_resets_what_it_damaged() {
    let mut server = Server::start().await;
    let (mut busy, mut idle) = (server.connect().await, server.connect().await);
    for client in [&mut busy, &mut idle] {
        says(client, "one").await;
        is_answered(client, "one").await;
        server.hears("one").await;
    }
    server.proxy.set(Fault::BlackHole);
    says(&mut busy, "two").await;
    server.has_swallowed(1).await;
    is_silent(&mut busy).await;
    server.proxy.heal();
    is_reset(&mut busy).await;
    says(&mut idle, "three").await;
    is_answered(&mut idle, "three").await;
    // The second one was never heard.
    server.hears("three").await;
}

#[tokio::test]
async fn a_half_open_network_brings_requests_and_no_answers() {
    let mut server = Server::start().await;
    let mut client = server.connect().await;
    server.proxy.set(Fault::HalfOpen);
    says(&mut client, "one").await;
    server.hears("one").await;
    server.has_swallowed(1).await;
    is_silent(&mut client).await;
    server.proxy.heal();
    is_reset(&mut client).await;
}

/// Says more than is heard at once, again and again, until the connection is gone.
async fn goes_on(mut client: OwnedWriteHalf) {
    let much = vec![b'x'; 1024 * 1024];
    while client.write_all(&much).await.is_ok() {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_lost_a_request_carries_none_after_it() {
    let mut server = Server::start().await;
    for _ in 0..CONNECTIONS {
        let mut client = server.connect().await;
        says(&mut client, "one").await;
        is_answered(&mut client, "one").await;
        server.hears("one").await;
        let swallowed = server.proxy.swallowed();
        server.proxy.set(Fault::BlackHole);
        let (_answers, requests) = client.into_split();
        let speaking = tokio::spawn(goes_on(requests));
        server.has_swallowed(swallowed + 1).await;
        // Some requests are lost already, and more are on their way.
        server.proxy.heal();
        timeout(PATIENCE, speaking).await.unwrap().unwrap();
    }
    let mut last = server.connect().await;
    says(&mut last, "last").await;
    server.hears("last").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_lost_an_answer_carries_none_after_it() {
    let server = Server::start().await;
    for _ in 0..CONNECTIONS {
        let swallowed = server.proxy.swallowed();
        server.proxy.set(Fault::HalfOpen);
        let (mut answers, requests) = server.connect().await.into_split();
        let speaking = tokio::spawn(goes_on(requests));
        server.has_swallowed(swallowed + 1).await;
        server.proxy.heal();
        let mut bytes = [0; 100];
        let read = timeout(PATIENCE, answers.read(&mut bytes)).await.unwrap();
        // Reset, or ended where the other half was told of the reset.
        assert!(!matches!(read, Ok(1..)), "an answer came after one that was lost: {read:?}");
        timeout(PATIENCE, speaking).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_delay_is_waited_for_in_both_directions() {
    let mut server = Server::start().await;
    let mut client = server.connect().await;
    server.proxy.set(Fault::Delay(SILENCE));
    let begun = Instant::now();
    says(&mut client, "one").await;
    server.hears("one").await;
    assert!(begun.elapsed() >= SILENCE);
    is_answered(&mut client, "one").await;
    assert!(begun.elapsed() >= SILENCE * 2);
}

#[tokio::test]
async fn an_answer_that_is_to_be_lost_is_lost_after_the_server_has_heard() {
    let mut server = Server::start().await;
    let (mut one, mut other) = (server.connect().await, server.connect().await);
    server.proxy.lose_reply_to("COMMIT\0");
    says(&mut other, "READ COMMITTED").await;
    is_answered(&mut other, "READ COMMITTED").await;
    server.hears("READ COMMITTED").await;
    says(&mut one, "COMMIT\0").await;
    server.hears("COMMIT\0").await;
    is_reset(&mut one).await;
    assert_eq!(server.proxy.lost(), 1);
    // Once, and nobody else's.
    says(&mut other, "COMMIT\0").await;
    is_answered(&mut other, "COMMIT\0").await;
}

#[tokio::test]
async fn a_network_breaks_with_the_request_that_was_named() {
    let mut server = Server::start().await;
    server.proxy.break_at(2, Fault::BlackHole);
    let mut client = server.connect().await;
    for text in ["one", "two"] {
        says(&mut client, text).await;
        is_answered(&mut client, text).await;
        server.hears(text).await;
    }
    says(&mut client, "three").await;
    server.has_swallowed(1).await;
    is_silent(&mut client).await;
    assert_eq!(server.proxy.requests(), 3);
    server.proxy.heal();
    is_reset(&mut client).await;
}

#[tokio::test]
async fn what_has_no_answer_does_not_count_as_the_answer_that_is_to_be_lost() {
    let mut server = Server::start().await;
    let (mut silent, mut other) = (server.connect().await, server.connect().await);
    says(&mut silent, "one").await;
    is_answered(&mut silent, "one").await;
    server.hears("one").await;
    server.proxy.lose_next_reply();
    // As a request to cancel another: whoever sends it hears nothing, and leaves.
    says(&mut silent, LEAVE).await;
    server.hears(LEAVE).await;
    assert_eq!(timeout(PATIENCE, silent.read(&mut [0; 1])).await.unwrap().unwrap_or(0), 0);
    says(&mut other, "two").await;
    server.hears("two").await;
    is_reset(&mut other).await;
    assert_eq!(server.proxy.lost(), 1);
}
