//! The last commands of a fleet, which are scheduled when a test says so: until then the fleet is not done,
//! however fast it is.

use std::path::{Path, PathBuf};

/// What a fleet holds back, as its ledger's directory says.
#[derive(Debug, Clone)]
pub struct HeldBack(PathBuf);

impl HeldBack {
    /// By the fleet with this ledger.
    #[must_use]
    pub fn beside(ledger: &Path) -> Self {
        Self(ledger.with_extension("released"))
    }

    /// Lets the fleet schedule what it holds back.
    ///
    /// # Errors
    /// When the directory is gone.
    pub fn release(&self) -> std::io::Result<()> {
        std::fs::write(&self.0, "")
    }

    /// Whether all may be scheduled.
    #[must_use]
    pub fn is_released(&self) -> bool {
        self.0.exists()
    }
}
