use std::collections::BTreeMap;

/// Where a claim looks: at a level, for a version of the contract.
pub(crate) type Scan = (i16, i32);

/// What became of the rows that a claim looked at.
#[derive(Debug, Default)]
pub(crate) struct ClaimOutcome {
    /// By scan, the highest number of those that are not ready any more.
    gone: BTreeMap<Scan, i64>,
    /// By scan, the lowest number of those that could not be decided about.
    kept: BTreeMap<Scan, i64>,
    /// How many have to wait behind others.
    pub(crate) moved: usize,
    /// How many have an ordering key, which the claim knows nothing about.
    pub(crate) keyed: usize,
    /// How many could not be decided about, because what they wait for is changing.
    pub(crate) left: usize,
}

impl ClaimOutcome {
    /// Moves marks behind what is gone, but not behind what was left.
    pub(crate) fn advance(&self, lows: &mut BTreeMap<Scan, i64>) {
        for (scan, gone) in &self.gone {
            let low = lows.entry(*scan).or_insert(i64::MIN);
            *low = (*low).max(*gone);
        }
        for (scan, kept) in &self.kept {
            let low = lows.entry(*scan).or_insert(i64::MIN);
            *low = (*low).min(kept.saturating_sub(1));
        }
    }

    /// Notes what `claim_shared.sql` calls the fate of a row.
    pub(crate) fn note(&mut self, fate: &str, scan: Scan, seq: i64) {
        self.moved += usize::from(fate == "moved");
        // What the fleet has no room for is ready still, and needs no second look until it has.
        self.left += usize::from(fate == "left");
        if ["left", "full"].contains(&fate) {
            let kept = self.kept.entry(scan).or_insert(seq);
            *kept = (*kept).min(seq);
        } else {
            self.note_gone(scan, seq);
        }
    }

    pub(crate) fn note_gone(&mut self, scan: Scan, seq: i64) {
        let gone = self.gone.entry(scan).or_insert(seq);
        *gone = (*gone).max(seq);
    }
}
