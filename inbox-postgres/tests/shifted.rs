//! A connection whose answers are shifted: one is lost, and those that follow still arrive. No network does
//! that, but a proxy with a bug may, and nothing may run under a handler it is not for.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use inbox::postgres::tokio_postgres::Config;
use inbox::postgres::{PostgresOptions, PostgresStore};
use inbox::store::{
    Lease, LeaseRequest, LeaseStore as _, Now, StoreError, StoreErrorKind, Terms, Wanted,
};
use inbox::{Inbox, ScheduleOptions, handler, inbox_contract};
use inbox_testing::postgres::PostgresDatabase;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

#[inbox_contract(name = "charge", version = 1)]
#[derive(Serialize, Deserialize)]
struct Charge;

#[handler(key = "charge")]
async fn charge(_command: Charge) {}

#[inbox_contract(name = "refund", version = 1)]
#[derive(Serialize, Deserialize)]
struct Refund;

#[handler(key = "refund")]
async fn refund(_command: Refund) {}

/// A claim for seven is the only thing that is asked with this number, as eight bytes.
const CLAIM: &[u8] = b"\0\0\0\x08\0\0\0\0\0\0\0\x07";

/// How an answer ends: the server is ready for the next question.
const READY: u8 = b'Z';

/// A proxy that loses the answer to a claim, brings the next answer, and resets the connection.
struct Shifting {
    config: Config,
    shifts: Arc<AtomicBool>,
}

impl Shifting {
    async fn before(database: &PostgresDatabase) -> Self {
        let target = database.config().get_ports()[0];
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let mut config = database.config().clone();
        config = through(&config, listener.local_addr().unwrap().port());
        let shifts = Arc::new(AtomicBool::new(false));
        let armed = Arc::clone(&shifts);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(("127.0.0.1", target)).await.unwrap();
                tokio::spawn(carry(client, server, Arc::clone(&armed)));
            }
        });
        Self { config, shifts }
    }
}

fn through(config: &Config, port: u16) -> Config {
    let mut through = Config::new();
    through.host("127.0.0.1").port(port).dbname(config.get_dbname().unwrap());
    config.get_user().map(|user| through.user(user));
    config.get_password().map(|password| through.password(password));
    through
}

async fn carry(mut client: TcpStream, mut server: TcpStream, armed: Arc<AtomicBool>) {
    let (mut up, mut down) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    // Answers that have ended, since the claim was asked.
    let mut shifting: Option<usize> = None;
    let mut piece = Vec::new();
    loop {
        tokio::select! {
            read = client.read(&mut up) => {
                let Ok(count @ 1..) = read else { return };
                let is_claim = up[..count].windows(CLAIM.len()).any(|part| part == CLAIM);
                if is_claim && armed.swap(false, Ordering::SeqCst) {
                    shifting = Some(0);
                }
                server.write_all(&up[..count]).await.unwrap();
            }
            read = server.read(&mut down) => {
                let Ok(count @ 1..) = read else { return };
                let Some(ended) = &mut shifting else {
                    client.write_all(&down[..count]).await.unwrap();
                    continue;
                };
                piece.extend_from_slice(&down[..count]);
                while let Some(message) = next_message(&mut piece) {
                    if *ended == 1 {
                        client.write_all(&message).await.unwrap();
                    }
                    *ended += usize::from(message[0] == READY);
                    if *ended == 2 {
                        return;
                    }
                }
            }
        }
    }
}

/// Takes a whole message of the server's off the front, if there is one.
fn next_message(bytes: &mut Vec<u8>) -> Option<Vec<u8>> {
    let length = bytes.get(1..5)?.try_into().ok().map(u32::from_be_bytes)?;
    let end = 1 + usize::try_from(length).ok()?;
    (bytes.len() >= end).then(|| bytes.drain(..end).collect())
}

async fn claim(store: &PostgresStore) -> Result<Vec<Lease>, StoreError> {
    let wanted = ["charge", "refund"].map(|key| Wanted {
        handler_key: key.to_owned(),
        versions: vec![1],
        limit: NonZeroU32::new(7).unwrap(),
        max_crashes: NonZeroU32::new(3).unwrap(),
        terms: Terms::default(),
    });
    let (host, duration) = ("host".to_owned(), Duration::from_hours(1));
    let request = LeaseRequest::new(host, duration, wanted.into());
    store.lease(request, Now::OfStore).await
}

/// The contracts under each handler's key, in the order of keys.
fn claimed(leases: &[Lease]) -> Vec<(String, Vec<String>)> {
    let contracts = |lease: &Lease| {
        lease.deliveries.iter().map(|one| one.message.contract.clone()).collect::<Vec<_>>()
    };
    let mut claimed: Vec<_> =
        leases.iter().map(|lease| (lease.handler_key.clone(), contracts(lease))).collect();
    claimed.sort();
    claimed
}

#[tokio::test]
async fn an_answer_to_another_claim_is_refused_and_what_was_claimed_is_given_back() {
    let database = PostgresDatabase::create().await.unwrap();
    let network = Shifting::before(&database).await;
    let options = PostgresOptions::new().connections(1).without_notify().ensure_schema();
    let store = options.open_config(network.config.clone()).await.unwrap();
    let inbox = Inbox::builder(store.clone()).build().await.unwrap();
    // Prepares the statements, so that a claim is one question.
    assert_eq!(claim(&store).await.unwrap(), []);
    inbox.scheduler().schedule(Charge, ScheduleOptions::new()).await.unwrap();
    inbox.scheduler().schedule(Refund, ScheduleOptions::new()).await.unwrap();
    network.shifts.store(true, Ordering::SeqCst);
    let error = claim(&store).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::TimedOut, "{error}");
    assert!(error.to_string().contains("answer to another question"), "{error}");
    assert!(!network.shifts.load(Ordering::SeqCst), "the claim was not recognised");
    // An hour is too long to wait for: both are released, uncounted, and for their own handlers.
    let mut held = Vec::new();
    while held.len() < 2 {
        held.extend(claim(&store).await.unwrap());
        tokio::task::yield_now().await;
    }
    let own = |key: &str| (key.to_owned(), vec![key.to_owned()]);
    assert_eq!(claimed(&held), [own("charge"), own("refund")]);
    let attempts: Vec<_> = held.iter().map(|lease| lease.deliveries[0].attempt).collect();
    assert_eq!(attempts, [1, 1]);
}
