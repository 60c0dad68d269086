use std::time::Duration;

use inbox_core::Timestamp;
use inbox_core::contract::Contract;
use inbox_core::message::MessageId;
use inbox_core::store::{DeliveryFilter, DeliveryState, Inspect as _, MessageRecord, StoreError};

use crate::TestInbox;

impl TestInbox {
    /// What became of a message.
    ///
    /// # Panics
    /// When the store does not know it.
    pub async fn status(&self, id: MessageId) -> MessageRecord {
        match self.stored("status", self.inbox().store().show(id)).await {
            Some(record) => record,
            None => panic!("the store knows no message {id}"),
        }
    }

    /// Moves the clock to the moment at which the next delivery is due, and answers whether one
    /// waits for a moment at all.
    ///
    /// # Panics
    /// When the store fails.
    pub async fn advance_to_next(&self) -> bool {
        let mut filter = DeliveryFilter::in_state(DeliveryState::Waiting);
        let mut next: Option<Timestamp> = None;
        loop {
            let page = self.stored("list", self.inbox().store().list(filter.clone())).await;
            let due = page.deliveries.iter().filter_map(|delivery| delivery.due_at);
            next = next.into_iter().chain(due).min();
            match page.next {
                Some(cursor) => filter.after = Some(cursor),
                None => break,
            }
        }
        let Some(next) = next else { return false };
        let micros = next.as_micros().saturating_sub(self.now().as_micros());
        self.advance(Duration::from_micros(micros.try_into().unwrap_or(0)));
        true
    }

    /// Every command of a contract that was scheduled, handled or not, oldest first.
    ///
    /// # Panics
    /// When one of them cannot be read.
    pub async fn scheduled<T: Contract>(&self) -> Vec<T> {
        let mut found = Vec::new();
        let mut filter =
            DeliveryFilter { contract: Some(T::NAME.to_owned()), ..DeliveryFilter::default() };
        let mut last = None;
        loop {
            let page = self.stored("list", self.inbox().store().list(filter.clone())).await;
            for delivery in page.deliveries {
                // An event has several deliveries, and is one command.
                if last.replace(delivery.message_id) != Some(delivery.message_id) {
                    found.push(self.decoded(delivery.message_id).await);
                }
            }
            match page.next {
                Some(next) => filter.after = Some(next),
                None => return found,
            }
        }
    }

    async fn decoded<T: Contract>(&self, id: MessageId) -> T {
        let mut message = self.status(id).await.stored.message;
        let plain = match self.inbox().scheduler().codec() {
            Some(codec) => inbox_core::dispatch::decode(codec, &mut message),
            None => Ok(()),
        };
        let decoded = plain.map_err(|error| error.to_string()).and_then(|()| {
            T::decode(message.version, &message.payload).map_err(|error| error.to_string())
        });
        match decoded {
            Ok(command) => command,
            Err(error) => panic!("message {id} cannot be read: {error}"),
        }
    }

    async fn stored<T>(
        &self,
        what: &str,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> T {
        match answer.await {
            Ok(answer) => answer,
            Err(error) => panic!("the store failed to answer `{what}`: {error}"),
        }
    }
}
