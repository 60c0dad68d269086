use inbox_core::message::MessageId;
use inbox_core::store::{
    Accepted, DeliveryCount, DeliveryFilter, DeliveryRecord, DeliveryState, MessageRecord, Page,
};

use super::Held;
use super::bench::{Bench, must};

impl Bench {
    pub(crate) async fn find(&self, id: MessageId) -> Option<MessageRecord> {
        must("show", self.store.show(id).await)
    }

    pub(crate) async fn show(&self, id: MessageId) -> MessageRecord {
        let Some(record) = self.find(id).await else { panic!("message {id} is gone") };
        record
    }

    /// The only delivery of a message.
    pub(crate) async fn delivery(&self, id: MessageId) -> DeliveryRecord {
        let mut deliveries = self.show(id).await.deliveries;
        assert_eq!(deliveries.len(), 1, "message {id} has one delivery: {deliveries:?}");
        deliveries.remove(0)
    }

    pub(crate) async fn delivery_of(&self, id: MessageId, handler_key: &str) -> DeliveryRecord {
        let of_handler = |d: &DeliveryRecord| d.handler_key.as_deref() == Some(handler_key);
        let found = self.show(id).await.deliveries.into_iter().find(of_handler);
        found.unwrap_or_else(|| panic!("message {id} has no delivery for `{handler_key}`"))
    }

    pub(crate) async fn state(&self, id: MessageId) -> DeliveryState {
        self.delivery(id).await.state
    }

    pub(crate) async fn page(&self, filter: DeliveryFilter) -> Page {
        let page = must("list", self.store.list(filter.clone()).await);
        let (size, limit) = (page.deliveries.len(), filter.page_size());
        assert!(u32::try_from(size).is_ok_and(|size| size <= limit), "{size} rows on a page");
        page
    }

    /// Every delivery that matches, read page by page.
    pub(crate) async fn list(&self, mut filter: DeliveryFilter) -> Vec<DeliveryRecord> {
        let mut all = Vec::new();
        loop {
            let page = self.page(filter.clone()).await;
            assert!(
                !page.deliveries.is_empty() || page.next.is_none(),
                "a page of nothing goes on"
            );
            all.extend(page.deliveries);
            let Some(next) = page.next else { return all };
            assert_ne!(filter.after.as_ref(), Some(&next), "the next page is the same one");
            filter.after = Some(next);
        }
    }

    pub(crate) async fn counts(&self) -> Vec<DeliveryCount> {
        must("counts", self.store.counts().await)
    }
}

pub(crate) fn is_new(accepted: &Accepted) -> bool {
    matches!(accepted, Accepted::New { .. })
}

/// The message that an answer names as the one accepted before.
pub(crate) fn id_of(accepted: &Accepted) -> Option<MessageId> {
    match accepted {
        Accepted::New { .. } => None,
        Accepted::Before(first) => Some(first.message.id),
    }
}

pub(crate) fn ids(held: &[Held]) -> Vec<MessageId> {
    held.iter().map(Held::id).collect()
}
