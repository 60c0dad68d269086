/// The versions of one contract that one type can read: its own, and older ones.
#[derive(Debug, Clone, Copy)]
pub struct Lineage {
    version: u32,
    older: Option<&'static Lineage>,
}

impl Lineage {
    /// A contract that reads its own version only.
    #[must_use]
    pub const fn first(version: u32) -> Self {
        Self { version, older: None }
    }

    /// A contract that also reads what `older` reads.
    #[must_use]
    pub const fn after(version: u32, older: &'static Lineage) -> Self {
        Self { version, older: Some(older) }
    }

    /// Every version that can be read, newest first.
    pub fn versions(&self) -> impl Iterator<Item = u32> + use<> {
        std::iter::successors(Some(*self), |lineage| lineage.older.copied())
            .map(|lineage| lineage.version)
    }

    /// Whether rows of `version` can be read.
    #[must_use]
    pub fn reads(&self, version: u32) -> bool {
        self.versions().any(|known| known == version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static FIRST: Lineage = Lineage::first(1);
    static THIRD: Lineage = Lineage::after(3, &FIRST);

    #[test]
    fn a_lineage_lists_its_versions_newest_first_and_skips_what_was_never_named() {
        assert_eq!(THIRD.versions().collect::<Vec<_>>(), [3, 1]);
        assert!(THIRD.reads(1));
        assert!(!THIRD.reads(2));
        assert!(!FIRST.reads(3));
    }
}
