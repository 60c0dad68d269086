use std::collections::BTreeMap;

/// Where a claim looks: at a level, for a version of the contract.
pub(crate) type Scan = (i16, i32);

/// Where the next claims start, by scan.
pub(crate) type Lows = BTreeMap<Scan, i64>;

/// What became of the rows that a claim looked at.
#[derive(Debug, Default)]
pub(crate) struct ClaimOutcome {
    /// Of rows without an ordering key.
    pub(crate) free: Seen,
    /// Of rows with one.
    pub(crate) lanes: Seen,
    /// How many were moved behind others.
    pub(crate) moved: usize,
    /// Whether the handler has rows with an ordering key.
    pub(crate) has_lanes: bool,
    /// Whether a lane was left that is changing hands.
    pub(crate) has_left: bool,
}

/// The numbers of the rows that a scan met.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// By scan, the highest number of those that are not ready any more.
    gone: Lows,
    /// By scan, the lowest number of those that are.
    kept: Lows,
}

impl Seen {
    /// Moves marks behind what is gone, but not behind what was left.
    pub(crate) fn advance(&self, lows: &mut Lows) {
        for (scan, gone) in &self.gone {
            let low = lows.entry(*scan).or_insert(i64::MIN);
            *low = (*low).max(*gone);
        }
        for (scan, kept) in &self.kept {
            let low = lows.entry(*scan).or_insert(i64::MIN);
            *low = (*low).min(kept.saturating_sub(1));
        }
    }

    pub(crate) fn note_kept(&mut self, scan: Scan, seq: i64) {
        let kept = self.kept.entry(scan).or_insert(seq);
        *kept = (*kept).min(seq);
    }

    pub(crate) fn note_gone(&mut self, scan: Scan, seq: i64) {
        let gone = self.gone.entry(scan).or_insert(seq);
        *gone = (*gone).max(seq);
    }
}
