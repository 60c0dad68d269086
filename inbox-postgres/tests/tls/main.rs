//! TLS: what is encrypted, whom is trusted, and what is said where it fails.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod server;

use std::time::Duration;

use inbox_core::store::{Inspect as _, StoreError, StoreErrorKind};
use inbox_postgres::{PostgresOptions, PostgresStore, Tls};
use inbox_testing::postgres::PostgresServer;
use server::{Encrypted, encrypted};

async fn open(address: &str) -> Result<PostgresStore, StoreError> {
    PostgresOptions::new().connections(1).ensure_schema().open(address).await
}

async fn refused(address: &str) -> String {
    let error = open(address).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::CannotOpen, "{error}");
    error.to_string()
}

#[tokio::test]
async fn connections_are_encrypted_as_the_address_says() {
    let server = encrypted().await;
    for (name, said, expected) in [
        ("silent", "", true),
        ("disable", "sslmode=disable", false),
        ("prefer", "sslmode=prefer", true),
        ("require", "sslmode=require", true),
    ] {
        let port = server.port;
        let address =
            format!("postgres://postgres@127.0.0.1:{port}/postgres?{said}&application_name={name}");
        let _store = open(&address.replace("?&", "?")).await.unwrap();
        assert_eq!(server.is_encrypted(name).await, expected, "{name}");
    }
}

#[tokio::test]
async fn a_server_that_a_trusted_root_signed_for_is_verified_in_full() {
    let (server, name) = (encrypted().await, "verified");
    let root = server.root.display();
    let address = server.address(name, &format!("sslmode=verify-full sslrootcert='{root}'"));
    let _store = open(&address).await.unwrap();
    assert!(server.is_encrypted(name).await);
}

#[tokio::test]
async fn a_program_may_say_it_too_and_for_a_configuration_of_the_driver() {
    let (server, name) = (encrypted().await, "configured");
    let config = server.address(name, "").parse().unwrap();
    let options = PostgresOptions::new().tls(Tls::VerifyFull).root_certificate(&server.root);
    options.connections(1).ensure_schema().open_config(config).await.unwrap();
    // What the program says wins over the address.
    let address = server.address(name, "sslmode=disable");
    let options = PostgresOptions::new().tls(Tls::VerifyFull).root_certificate(&server.other_root);
    let error = options.open(&address).await.unwrap_err();
    assert!(error.to_string().contains("name the root that signed it"), "{error}");
}

#[tokio::test]
async fn a_server_that_cannot_be_trusted_is_refused_before_anything_is_sent_to_it() {
    let server = encrypted().await;
    let Encrypted { root, other_root, port, .. } = server;
    let (root, other) = (root.display(), other_root.display());
    let address = |host: &str, said: &str| {
        format!("host={host} port={port} user=stranger password=secret dbname=postgres {said}")
    };
    for said in [
        format!("sslmode=verify-full sslrootcert={other}"),
        format!("sslmode=verify-ca sslrootcert={other}"),
        format!("sslmode=require sslrootcert={other}"),
        // The system trusts no authority that a test makes.
        "sslmode=verify-full".to_owned(),
        "sslrootcert=system".to_owned(),
    ] {
        let error = refused(&address("localhost", &said)).await;
        assert!(error.contains("signed by nobody who is trusted here"), "{said}: {error}");
        assert!(error.contains("name the root that signed it with `sslrootcert=FILE`"), "{error}");
    }
    let said = format!("sslmode=verify-full sslrootcert={root}");
    let error = refused(&address("127.0.0.1", &said)).await;
    assert!(error.contains("is not for `127.0.0.1` but for `localhost`"), "{error}");
    assert!(error.contains("write sslmode=verify-ca"), "{error}");
    // Each of them ended in the middle of its handshake, and said nothing that would be logged.
    let log = server.log_with(6, "could not accept SSL connection").await;
    assert!(!log.contains("stranger"), "{log}");
}

#[tokio::test]
async fn any_name_will_do_where_only_the_signature_is_asked_for() {
    let (server, port) = (encrypted().await, encrypted().await.port);
    let root = server.root.display();
    for mode in ["verify-ca", "require"] {
        let address = format!("host=127.0.0.1 port={port} user=postgres dbname=postgres");
        open(&format!("{address} sslmode={mode} sslrootcert='{root}'")).await.unwrap();
    }
}

#[tokio::test]
async fn a_password_is_bound_to_the_encrypted_connection_where_that_is_asked_for() {
    let (server, port) = (encrypted().await, encrypted().await.port);
    let (root, said) = (server.root.display(), "channel_binding=require");
    let address = format!("host=localhost port={port} user=keeper password=secret dbname=postgres");
    let address = format!("{address} sslmode=verify-full sslrootcert='{root}' {said}");
    // Its role may not create a schema: it came that far.
    let error = PostgresOptions::new().schema("not_there").open(&address).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Schema, "{error}");
}

#[tokio::test]
async fn a_root_that_cannot_be_read_is_told() {
    let server = encrypted().await;
    let cannot = |file: &str| format!("sslmode=verify-full sslrootcert='{file}'");
    let error = refused(&server.address("a", &cannot("/no/such/file"))).await;
    assert!(error.contains("the root certificate `/no/such/file` cannot be read"), "{error}");
    let error = refused(&server.address("a", &cannot("Cargo.toml"))).await;
    assert!(error.contains("`Cargo.toml` holds no certificate"), "{error}");
    assert!(error.contains("begins with -----BEGIN CERTIFICATE-----"), "{error}");
}

#[tokio::test]
async fn a_server_without_tls_is_told_where_it_must_have_it_and_used_where_it_need_not() {
    let server = PostgresServer::start().unwrap();
    let address = server.url("postgres");
    for mode in ["require", "verify-full"] {
        let error = refused(&format!("{address}?sslmode={mode}")).await;
        assert!(error.contains("the server has no TLS"), "{error}");
        assert!(error.contains("or write sslmode=prefer"), "{error}");
    }
    open(&address).await.unwrap();
}

#[tokio::test]
async fn what_nobody_waits_for_is_cancelled_over_an_encrypted_connection_too() {
    let (server, name) = (encrypted().await, "cancelled");
    let root = server.root.display();
    let address = server.address(name, &format!("sslmode=verify-full sslrootcert='{root}'"));
    let store = open(&address).await.unwrap();
    let mut client = server.connect().await;
    let transaction = client.transaction().await.unwrap();
    transaction.batch_execute("LOCK TABLE inbox.ready IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let counting = tokio::spawn(async move { store.counts().await });
    server.until_waiting(name, 1).await;
    counting.abort();
    // The server would not notice a closed connection before the lock is free.
    let gone = tokio::time::timeout(Duration::from_mins(10), server.until_waiting(name, 0)).await;
    assert!(gone.is_ok(), "nobody cancelled it");
}

/// Certificates that only those refuse who ask whose they are: of the old version, and with a key of a
/// kind that is not verified here.
const UNUSUAL: [&str; 2] = [
    "openssl req -new -nodes -out a.csr -keyout server.key -subj /CN=localhost &&
     openssl x509 -req -in a.csr -days 9 -signkey server.key -out server.crt",
    "openssl ecparam -name secp521r1 -genkey -noout -out server.key &&
     openssl req -new -x509 -days 9 -key server.key -out server.crt -subj /CN=localhost",
];

#[tokio::test]
async fn whoever_does_not_ask_whose_a_certificate_is_takes_any() {
    for make in UNUSUAL {
        let server = PostgresServer::start().unwrap();
        server::show(&server, make).await;
        let url = server.url("postgres").replace("127.0.0.1", "localhost");
        for mode in ["prefer", "require"] {
            let store = open(&format!("{url}?sslmode={mode}")).await.unwrap();
            assert!(store.counts().await.unwrap().is_empty());
            store.close().await;
        }
        let error = refused(&format!("{url}?sslmode=verify-full")).await;
        assert!(error.contains("the server"), "{error}");
    }
}
