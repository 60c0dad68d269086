use std::collections::BTreeMap;

use inbox::store::DeliveryRecord;
use inbox::testing::ledger::{Entry, Expectations, History};
use inbox_tests::phase::Note;

use crate::fleet::{NEW, OLD};

/// All that is known when everything is over.
pub(crate) struct Case {
    pub(crate) history: History,
    pub(crate) stored: Vec<DeliveryRecord>,
    pub(crate) notes: Vec<Note>,
    /// Which program each process was.
    pub(crate) processes: BTreeMap<u32, &'static str>,
}

impl Case {
    /// Every message was handled once, under the key of its phase.
    pub(crate) fn judge(&self, keys: &BTreeMap<u64, &str>) {
        let expectations = Expectations::new().settled();
        let summary = self.history.check(&self.stored, &expectations).unwrap();
        println!("{summary}");
        // What was accepted and not noted, by a program that was killed, is completed too.
        assert!(summary.completed >= summary.accepted && summary.dead == 0, "{summary}");
        let mut stored: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for delivery in &self.stored {
            let key = delivery.handler_key.as_deref();
            stored.entry(delivery.message_id.to_string()).or_default().push(key);
        }
        assert!(stored.values().all(|keys| keys.len() == 1), "a message has one handler");
        for Note { phase, what, who } in &self.notes {
            assert_eq!(stored[what], [Some(keys[phase])], "{what}, by {who} in phase {phase}");
        }
        for phase in keys.keys() {
            assert!(self.notes.iter().any(|note| note.phase == *phase), "phase {phase}");
        }
        assert!(self.runs(OLD, "charge") > 0 && self.runs(NEW, "charge-card") > 0);
        assert_eq!(self.runs(OLD, "charge-card"), 0, "the old program does not know it");
        assert!(self.runs(NEW, "charge") > 0, "the new program drains what was left");
    }

    /// How often a program ran what is stored under a key.
    fn runs(&self, program: &str, key: &str) -> usize {
        let is_run = |entry: &&Entry| match entry {
            Entry::Started { handler_key, process, .. } => {
                handler_key == key && self.processes.get(process) == Some(&program)
            }
            _ => false,
        };
        self.history.entries().iter().filter(is_run).count()
    }
}
