use inbox_core::store::{DeliveryFilter, DeliveryRecord, Inspect, StoreError};

/// Every delivery in `store`, page after page.
///
/// # Errors
/// When the store cannot list them.
pub async fn stored(store: &dyn Inspect) -> Result<Vec<DeliveryRecord>, StoreError> {
    let mut filter = DeliveryFilter { limit: Some(1_000), ..DeliveryFilter::default() };
    let mut deliveries = Vec::new();
    loop {
        let page = store.list(filter.clone()).await?;
        deliveries.extend(page.deliveries);
        match page.next {
            Some(next) => filter.after = Some(next),
            None => return Ok(deliveries),
        }
    }
}
