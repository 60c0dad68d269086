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
    /// Where a claim goes on that began at `low`: behind what is gone, but not behind what was left.
    pub(crate) fn after(&self, low: [i64; 4]) -> [i64; 4] {
        std::array::from_fn(|at| {
            let gone = self.gone[at].map_or(low[at], |gone| gone.max(low[at]));
            self.kept[at].map_or(gone, |kept| gone.min(kept - 1))
        })
    }

    /// Notes what `lease.sql` calls the fate of a row.
    pub(crate) fn note(&mut self, fate: &str, priority: i16, seq: i64) {
        self.moved += usize::from(fate == "moved");
        // What the fleet has no room for is ready still, and needs no second look until it has.
        self.left += usize::from(fate == "left");
        if ["left", "full"].contains(&fate) {
            let kept = &mut self.kept[place(priority)];
            *kept = Some(kept.map_or(seq, |kept| kept.min(seq)));
        } else {
            self.note_gone(priority, seq);
        }
    }

    pub(crate) fn note_gone(&mut self, priority: i16, seq: i64) {
        let gone = &mut self.gone[place(priority)];
        *gone = (*gone).max(Some(seq));
    }
}

fn place(priority: i16) -> usize {
    usize::try_from(priority).unwrap_or_default().min(3)
}
