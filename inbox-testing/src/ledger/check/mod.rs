//! The rules: each file asks one kind of question of the same evidence.

mod attempts;
mod completed;
mod doubled;
mod evidence;
mod lost;
mod order;
mod overlap;
mod reach;
mod turns;

use inbox_core::store::DeliveryRecord;

use self::evidence::Evidence;
use super::{Expectations, History, Rule, Summary, Violation, Violations};

impl History {
    /// Compares the history with `stored`, all deliveries of the store as
    /// [`ledger::stored`](super::stored()) reads them.
    ///
    /// # Errors
    /// When a rule was broken: with every violation there is.
    pub fn check(
        &self,
        stored: &[DeliveryRecord],
        expectations: &Expectations,
    ) -> Result<Summary, Violations> {
        let evidence = Evidence::new(self, stored, expectations);
        let mut found = Found::default();
        lost::check(&evidence, &mut found);
        doubled::check(&evidence, &mut found);
        attempts::check(&evidence, &mut found);
        completed::check(&evidence, &mut found);
        order::check(&evidence, &mut found);
        turns::check(&evidence, &mut found);
        reach::check(&evidence, &mut found);
        let summary = evidence.summary();
        match found.0.is_empty() {
            true => Ok(summary),
            false => Err(Violations::new(found.0, summary)),
        }
    }
}

#[derive(Default)]
struct Found(Vec<Violation>);

impl Found {
    fn add(&mut self, rule: Rule, sentence: String) {
        self.0.push(Violation { rule, sentence });
    }
}
