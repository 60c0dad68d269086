use std::future::poll_fn;

use inbox::postgres::tokio_postgres::{AsyncMessage, Client, NoTls, Notification};
use inbox_testing::postgres::PostgresDatabase;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::reach::PATIENCE;

/// Someone who hears what processes tell each other.
pub(crate) struct Ear {
    pub(crate) client: Client,
    heard: mpsc::UnboundedReceiver<Notification>,
}

impl Ear {
    pub(crate) async fn new(database: &PostgresDatabase) -> Self {
        let (client, mut connection) = database.config().connect(NoTls).await.unwrap();
        let (tell, heard) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await
            {
                if let AsyncMessage::Notification(notification) = message {
                    let _ = tell.send(notification);
                }
            }
        });
        client.batch_execute("LISTEN \"inbox.inbox\"").await.unwrap();
        Self { client, heard }
    }

    /// What was told next. Ours says nothing.
    pub(crate) async fn hear(&mut self) -> String {
        let heard = timeout(PATIENCE, self.heard.recv()).await;
        heard.unwrap_or_else(|_| panic!("nothing was told")).unwrap().payload().to_owned()
    }

    /// Looks whenever it is told something, and never else, until it sees this many. Answers how often
    /// it was told.
    pub(crate) async fn look_for(&mut self, count: i64) -> usize {
        for told in 1.. {
            assert_eq!(self.hear().await, "");
            let seen = self.client.query_one("SELECT count(*) FROM inbox.ready", &[]).await;
            if seen.unwrap().get::<_, i64>(0) == count {
                return told;
            }
        }
        unreachable!("the loop has no end")
    }

    /// How often it was told something up to now.
    pub(crate) async fn count(&mut self) -> usize {
        self.client.batch_execute("NOTIFY \"inbox.inbox\", 'now'").await.unwrap();
        let mut count = 0;
        while self.hear().await.is_empty() {
            count += 1;
        }
        count
    }
}
