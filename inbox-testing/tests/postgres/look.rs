//! Looking at a server from outside.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio_postgres::{Client, NoTls};

/// For what must happen by itself. Nothing takes this long.
const PATIENCE: Duration = Duration::from_mins(10);

pub(crate) async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(async move { connection.await.ok() });
    Ok(client)
}

/// Where the server at `url` keeps its data and its log.
pub(crate) async fn directory(url: &str) -> PathBuf {
    let client = connect(url).await.unwrap();
    let data = client.query_one("SHOW data_directory", &[]).await.unwrap().get::<_, String>(0);
    PathBuf::from(data).parent().unwrap().to_owned()
}

/// Asks again and again.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
