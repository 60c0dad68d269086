//! The statements, each with arguments that find something where tables are full, and with what it may read.

mod acts;
mod chores;
mod claims;
mod schedule;
mod settle;
mod shared;

use super::full::{lease, message};
use super::touched::Touched;

/// A statement with arguments.
pub(super) struct Case {
    pub(super) name: &'static str,
    arguments: String,
    /// What it moves or answers, of deliveries, messages, lanes or keys: it may read in proportion to that.
    moves: u64,
    /// Tables of what is in flight that it may read once from end to end, and why.
    whole: &'static [(&'static str, &'static str)],
}

/// Deliveries are looked for under a lease, and that needs no other index.
const BY_MESSAGE: (&str, &str) =
    ("held", "a held delivery is found by its message alone by reading what is in flight");

impl Case {
    fn new(name: &'static str, moves: u64, arguments: impl Into<String>) -> Self {
        Self { name, arguments: arguments.into(), moves, whole: &[] }
    }

    const fn reading(mut self, whole: &'static [(&'static str, &'static str)]) -> Self {
        self.whole = whole;
        self
    }

    pub(super) fn execute(&self) -> String {
        match &*self.arguments {
            "" => format!("EXECUTE {}", self.name),
            arguments => format!("EXECUTE {}({arguments})", self.name),
        }
    }

    /// What is wrong with what it read, if it is too much.
    pub(super) fn judge(&self, touched: &Touched) -> Option<String> {
        let whole: Vec<_> = self.whole.iter().map(|(table, _)| *table).collect();
        let without = [&SMALL[..], &whole[..]].concat();
        // Some rows in each place that it looks at. Each is some steps down an index, where it is found and
        // where it is written.
        let most = (10 + 6 * self.moves, 50 + 80 * self.moves);
        let exceeds =
            |of: (u64, u64), more: (u64, u64)| of.0 > most.0 + more.0 || of.1 > most.1 + more.1;
        let is_wrong = exceeds(touched.but(&without), (0, 0))
            || IN_FLIGHT
                .iter()
                .any(|(table, size)| whole.contains(table) && exceeds(touched.of(table), *size));
        is_wrong.then(|| format!("`{}` moves {} and read {touched:?}", self.name, self.moves))
    }
}

/// A row for each handler or each host: these are not counted.
const SMALL: [&str; 3] = ["route", "host", "orphan"];

/// What reading them once takes, in rows and in pages.
const IN_FLIGHT: [(&str, (u64, u64)); 2] = [("held", (50_000, 1_500)), ("lease", (500, 50))];

/// Statements that are not among the cases, and why.
pub(super) const LEFT_OUT: [(&str, &str); 11] = [
    ("list", "people ask for it, and it is planned anew each time"),
    ("counts", "it counts all there is"),
    ("lanes", "it sorts all lanes, for people"),
    ("route_records", "it counts all that is open, for people"),
    ("show_deliveries", "people ask for it"),
    ("show_attempts", "people ask for it"),
    ("bulk_stage", "it makes a table"),
    ("bulk_keyed", "a copy has no plan"),
    ("bulk_message", "a copy has no plan"),
    ("bulk_ready", "a copy has no plan"),
    ("bulk_waiting", "a copy has no plan"),
];

pub(super) fn cases() -> Vec<Case> {
    [
        schedule::cases(),
        claims::cases(),
        settle::cases(),
        shared::cases(),
        chores::cases(),
        acts::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// An array of these words.
fn array(words: impl IntoIterator<Item = String>) -> String {
    format!("'{{{}}}'", words.into_iter().collect::<Vec<_>>().join(","))
}

/// An array of so many times the same.
fn times(count: usize, word: &str) -> String {
    array(std::iter::repeat_n(word.to_owned(), count))
}

/// The ids of the messages with these numbers.
fn messages(numbers: impl IntoIterator<Item = u32>) -> String {
    array(numbers.into_iter().map(message))
}

/// The ids of the leases with these numbers.
fn leases(numbers: impl IntoIterator<Item = u32>) -> String {
    array(numbers.into_iter().map(lease))
}
