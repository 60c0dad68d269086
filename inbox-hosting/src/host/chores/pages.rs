use inbox_core::store::StoreError;

/// Rows that one statement moves.
pub(super) const PAGE: u32 = 1_000;

/// Statements of one round at most: ready deliveries need not wait for a whole backlog.
pub(super) const MOST: usize = 10;

/// Repeats a statement that answers how many rows it moved, until nothing is left or it is the next
/// round's turn.
pub(super) async fn pages<F>(mut statement: impl FnMut() -> F) -> Result<(), StoreError>
where
    F: Future<Output = Result<u64, StoreError>>,
{
    for _ in 0..MOST {
        if statement().await? < PAGE.into() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_backlog_is_moved_in_pages_and_not_all_in_one_round() {
        for (rows, expected) in [(0, 1), (999, 1), (1_000, 2), (2_500, 3), (1_000_000, MOST)] {
            let (mut left, mut statements) = (rows, 0);
            let moved = pages(|| {
                let page = left.min(u64::from(PAGE));
                left -= page;
                statements += 1;
                async move { Ok(page) }
            });
            moved.await.unwrap();
            assert_eq!(statements, expected, "{rows} rows");
        }
    }
}
