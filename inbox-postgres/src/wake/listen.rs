use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use inbox_core::store::{Bell, Listening, StoreError, StoreErrorKind};
use tokio::time::{sleep, timeout};
use tokio_postgres::{AsyncMessage, Client};

use super::direct::{Direct, Wire};
use crate::PostgresStore;
use crate::error::translate;
use crate::schema::quoted;

/// How often a connection is asked whether it is there, and how long it may take to say so. One that is
/// half open is silent like one without news.
const BEAT: Duration = Duration::from_secs(5);

impl PostgresStore {
    /// Begins to hear other processes.
    pub(crate) async fn listen_on(&self, direct: &Direct) -> Result<Listening, StoreError> {
        let inner = self.inner();
        let (closing, channel) = (inner.closing.clone(), inner.schema.channel());
        let opening = Line::open(direct, inner.bell.clone(), &channel);
        let opened = timeout(self.call_timeout(), opening).await;
        let mut line = opened.unwrap_or_else(|_| Err(direct.silent()))?;
        // What was told before nobody has heard.
        self.ring_here();
        Ok(Box::pin(async move {
            let ended = closing.run_until_cancelled(line.hear()).await;
            ended.unwrap_or_else(|| StoreError::new(StoreErrorKind::Closed, "the store was closed"))
        }))
    }
}

/// A connection that listens. Closed when it is dropped: both halves are driven by one future.
struct Line {
    client: Client,
    wire: Wire,
    bell: Bell,
}

impl Line {
    async fn open(direct: &Direct, bell: Bell, channel: &str) -> Result<Self, StoreError> {
        let (client, wire) = direct.connect().await?;
        let mut line = Self { client, wire, bell };
        line.ask(&format!("LISTEN {}", quoted(channel))).await?;
        Ok(line)
    }

    /// Hears until it cannot any more, and says why.
    async fn hear(&mut self) -> StoreError {
        loop {
            let beat = async {
                ringing(&mut self.wire, &self.bell, sleep(BEAT)).await?;
                timeout(BEAT, self.ask("SELECT 1")).await.unwrap_or_else(|_| {
                    let message = format!("the database gave no answer within {BEAT:?}");
                    Err(StoreError::new(StoreErrorKind::TimedOut, message))
                })
            };
            if let Err(error) = beat.await {
                return error;
            }
        }
    }

    async fn ask(&mut self, sql: &str) -> Result<(), StoreError> {
        let answer = self.client.batch_execute(sql);
        ringing(&mut self.wire, &self.bell, answer).await?.map_err(translate)
    }
}

/// Rings for each notification until `other` is done.
async fn ringing<T>(
    wire: &mut Wire,
    bell: &Bell,
    other: impl Future<Output = T>,
) -> Result<T, StoreError> {
    let mut other = pin!(other);
    poll_fn(|context| {
        loop {
            match wire.poll_message(context) {
                Poll::Ready(Some(Ok(AsyncMessage::Notification(_)))) => bell.ring(),
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(translate(error))),
                Poll::Ready(None) => {
                    let message = "the database ended the connection";
                    return Poll::Ready(Err(StoreError::new(StoreErrorKind::TimedOut, message)));
                }
                Poll::Pending => break,
            }
        }
        other.as_mut().poll(context).map(Ok)
    })
    .await
}
