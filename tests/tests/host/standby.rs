use std::time::{Duration, Instant};

use inbox::hosting::Health;
use inbox::postgres::PostgresOptions;
use inbox::postgres::tokio_postgres::{Client, Config, NoTls};
use inbox::store::DeliveryState;
use inbox::testing::fault::FaultProxy;
use inbox::testing::postgres::PostgresServer;

use crate::kit::{Gate, PATIENCE, What, all_are, builder, health_is, schedule};

pub(crate) async fn connect(config: &Config) -> Client {
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(async move { connection.await.ok() });
    client
}

/// Waits until the standby has all of this.
async fn follows(standby: &Client, messages: i64) {
    let begun = Instant::now();
    loop {
        let row = standby.query_one("SELECT count(*) FROM inbox.message", &[]).await.unwrap();
        if row.get::<_, i64>(0) == messages {
            return;
        }
        assert!(begun.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn is_well(health: &Health) -> bool {
    health.is_ready() && health.problems().next().is_none()
}

#[tokio::test]
async fn a_failover_to_a_standby_that_is_promoted_later_is_red_and_then_green_and_loses_nothing() {
    let primary = PostgresServer::start().unwrap();
    let primary_config: Config = primary.url("postgres").parse().unwrap();
    let proxy = FaultProxy::before(&primary_config).await.unwrap();
    let direct = PostgresOptions::new().ensure_schema().connections(2);
    let direct = direct.open(&primary.url("postgres")).await.unwrap();
    let standby = primary.standby().unwrap();
    let standby_config: Config = standby.url("postgres").parse().unwrap();
    let reader = connect(&standby_config).await;

    let options = PostgresOptions::new().connections(4).call_timeout(Duration::from_secs(10));
    let store = options.open_config(proxy.config().clone()).await.unwrap();
    let gate = Gate::default();
    let inbox = builder(store, &gate).build().await.unwrap();
    let host = inbox.start().unwrap();
    health_is(&inbox, is_well).await;
    let elsewhere = inbox::Inbox::builder(direct).scheduler_only().build().await.unwrap();
    schedule(elsewhere.scheduler(), 0..3, What::Pass).await;
    gate.ended(3).await;

    // The address leads to the standby, which can be read and no more; nobody can listen there.
    proxy.lead_to(&standby_config).await.unwrap();
    let health = health_is(&inbox, |health| {
        let ill = |name: &str| health.problems().any(|problem| problem.starts_with(name));
        let says_why = health.problems().any(|problem| problem.contains("read-only"));
        ill("pump") && ill("promote") && ill("listener") && says_why
    })
    .await;
    assert!(!health.is_live() && !health.is_ready(), "{health}");
    schedule(elsewhere.scheduler(), 3..6, What::Pass).await;
    follows(&reader, 6).await;
    drop(primary);

    reader.execute("SELECT pg_promote()", &[]).await.unwrap();
    gate.ended(6).await;
    health_is(&inbox, is_well).await;
    assert_eq!(all_are(&**inbox.store(), DeliveryState::Completed).await, 6);
    host.shutdown(Duration::from_secs(30)).await;
}
