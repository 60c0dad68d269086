use std::num::NonZeroU32;

/// The largest group.
const MOST: u32 = 64;

/// How many quarantined deliveries this host tries together. Two workers in a row have vanished with each of
/// them, and most of them only had a bad neighbour: so groups double while nothing happens, and after a crash
/// the next host begins with one.
#[derive(Debug)]
pub(super) struct Quarantine {
    /// The size of the next group.
    size: NonZeroU32,
    /// Deliveries of the present group that are not settled.
    open: usize,
    /// Whether one of the present group was lost.
    has_lost: bool,
}

impl Default for Quarantine {
    fn default() -> Self {
        Self { size: NonZeroU32::MIN, open: 0, has_lost: false }
    }
}

impl Quarantine {
    /// How many to ask for: none, while a group is held.
    pub(super) fn asked(&self) -> Option<NonZeroU32> {
        (self.open == 0).then_some(self.size)
    }

    /// A claim that [asked](Self::asked) for so many brought these. One that asked for none, because a group
    /// was held, says nothing of how many there are.
    pub(super) fn leased(&mut self, asked: Option<NonZeroU32>, deliveries: usize) {
        self.open += deliveries;
        if self.open == 0 && asked.is_some() {
            self.size = NonZeroU32::MIN;
        }
    }

    /// One of them is settled, or lost. Answers whether that was the last.
    pub(super) fn ended(&mut self, is_settled: bool) -> bool {
        self.open = self.open.saturating_sub(1);
        self.has_lost |= !is_settled;
        if self.open > 0 {
            return false;
        }
        let doubled = self.size.saturating_add(self.size.get()).get().min(MOST);
        self.size = match std::mem::take(&mut self.has_lost) {
            true => NonZeroU32::MIN,
            false => NonZeroU32::new(doubled).unwrap_or(NonZeroU32::MIN),
        };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Claims a whole group, and ends it; answers how many those were.
    fn group(quarantine: &mut Quarantine, is_settled: bool) -> u32 {
        let asked = quarantine.asked();
        let size = asked.unwrap().get();
        quarantine.leased(asked, size as usize);
        for left in (0..size).rev() {
            assert_eq!(quarantine.asked(), None, "one group at a time");
            assert_eq!(quarantine.ended(is_settled), left == 0);
        }
        size
    }

    #[test]
    fn groups_double_while_nothing_happens() {
        let mut quarantine = Quarantine::default();
        let sizes: Vec<_> = (0..8).map(|_| group(&mut quarantine, true)).collect();
        assert_eq!(sizes, [1, 2, 4, 8, 16, 32, 64, 64]);
    }

    #[test]
    fn after_a_loss_or_when_there_are_none_the_next_group_is_one() {
        let mut quarantine = Quarantine::default();
        group(&mut quarantine, true);
        assert_eq!(group(&mut quarantine, false), 2);
        assert_eq!(group(&mut quarantine, true), 1);
        let asked = quarantine.asked();
        quarantine.leased(asked, 0);
        assert_eq!(group(&mut quarantine, true), 1);
    }

    #[test]
    fn a_claim_that_was_under_way_while_a_group_ended_changes_nothing() {
        let mut quarantine = Quarantine::default();
        assert_eq!(group(&mut quarantine, true), 1);
        quarantine.leased(None, 0);
        assert_eq!(group(&mut quarantine, true), 2);
    }
}
