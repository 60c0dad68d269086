use tokio_postgres::Row;

use crate::lease::FATE;
use crate::row::column;

/// What became of the rows that a claim looked at.
#[derive(Debug, Default)]
pub(crate) struct Fates {
    /// By priority, the highest number of those that are not ready any more.
    pub(crate) gone: [Option<i64>; 4],
    /// By priority, the lowest number of those that could not be decided about.
    pub(crate) kept: [Option<i64>; 4],
    /// How many have to wait behind others.
    pub(crate) moved: usize,
    /// How many have an ordering key, which the claim knows nothing about.
    pub(crate) keyed: usize,
    /// How many could not be decided about, because what they wait for is changing.
    pub(crate) left: usize,
}

impl Fates {
    pub(crate) fn of(rows: &[Row]) -> Result<Self, String> {
        let mut fates = Self::default();
        for row in rows {
            let (seq, priority): (i64, i16) = (column(row, 2)?, column(row, 3)?);
            let at = usize::try_from(priority).unwrap_or_default().min(3);
            let fate: &str = column(row, FATE)?;
            fates.moved += usize::from(fate == "moved");
            // What the fleet has no room for is ready still, and needs no second look until it has.
            fates.left += usize::from(fate == "left");
            fates.keyed += usize::from(fate == "keyed");
            if ["left", "full", "keyed"].contains(&fate) {
                fates.kept[at] = Some(fates.kept[at].map_or(seq, |kept| kept.min(seq)));
            } else {
                fates.gone[at] = fates.gone[at].max(Some(seq));
            }
        }
        Ok(fates)
    }
}
