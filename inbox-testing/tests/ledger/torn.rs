use std::path::Path;

use inbox_testing::ledger::{Entry, Expectations, History, Ledger};
use tempfile::tempdir;

use crate::story::{accepted, accepted_in, at, finished, id, lease, started};

fn entries() -> Vec<Entry> {
    vec![
        accepted(1, 0),
        accepted_in("", 2, -5),
        accepted_in("-", 3, i64::MAX / 1_000_000),
        accepted_in("a\tb\nc\\t\\", 4, 1),
        Entry::Accepted {
            message_id: id(5),
            contract: "ä\r;".into(),
            ordering_key: None,
            at: at(2),
        },
        started(1, 1, lease(u128::MAX, 9), 1),
        started(1, u32::MAX, None, 1),
        finished(1, 1, lease(7, 9), 3, true),
        finished(1, 1, None, 3, false),
    ]
}

fn written(path: &Path, entries: &[Entry]) -> Vec<u8> {
    let ledger = Ledger::open(path).unwrap();
    for entry in entries {
        ledger.append(entry);
    }
    std::fs::read(path).unwrap()
}

#[test]
fn every_entry_reads_back_as_it_was_written() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("ledger");
    written(&path, &entries());
    let history = Ledger::read(&path).unwrap();
    assert_eq!(history.entries(), entries());
    assert_eq!(history.torn(), []);
}

#[test]
fn an_entry_cut_anywhere_is_torn_and_takes_no_other_with_it() {
    let directory = tempdir().unwrap();
    let after = accepted(9, 9);
    let next = written(&directory.path().join("next"), std::slice::from_ref(&after));
    for (n, entry) in entries().into_iter().enumerate() {
        let whole = written(&directory.path().join(n.to_string()), std::slice::from_ref(&entry));
        for cut in 0..=whole.len() {
            let history = History::parse(&[&whole[..cut], &next].concat());
            // Behind the mark at its end only a line break is missing.
            let complete = cut + 1 >= whole.len();
            let expected =
                if complete { vec![entry.clone(), after.clone()] } else { vec![after.clone()] };
            assert_eq!(history.entries(), expected, "{entry:?} cut at {cut}");
            // Cut before or behind its first line break, nothing is there to see.
            let torn = usize::from(cut > 1 && !complete);
            assert_eq!(history.torn().len(), torn, "{entry:?} cut at {cut}");
        }
    }
}

#[test]
fn an_entry_written_into_the_middle_of_another_is_whole() {
    let directory = tempdir().unwrap();
    let outer = written(&directory.path().join("outer"), &[started(1, 1, lease(1, 9), 1)]);
    let inner = written(&directory.path().join("inner"), &[accepted(9, 9)]);
    for cut in 2..outer.len() - 2 {
        let history = History::parse(&[&outer[..cut], &inner, &outer[cut..]].concat());
        assert_eq!(history.entries(), [accepted(9, 9)], "cut at {cut}");
        assert_eq!(history.torn().len(), 2, "cut at {cut}");
    }
}

#[test]
fn bytes_that_are_no_ledger_are_torn_lines_with_their_number_and_text() {
    let history = History::parse(b"hello\n\n\xFF\xFE\tx\nfinished\t1\n");
    assert_eq!(history.entries(), []);
    let torn: Vec<_> = history.torn().iter().map(|line| (line.number, &*line.text)).collect();
    assert_eq!(torn, [(1, "hello"), (3, "\u{FFFD}\u{FFFD}\tx"), (4, "finished\t1")]);
    let summary = history.check(&[], &Expectations::new()).unwrap();
    assert_eq!(summary.torn_lines, 3);
}

#[test]
fn a_ledger_that_cannot_be_opened_or_read_is_named() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("missing").join("ledger");
    let opened = Ledger::open(&path).unwrap_err().to_string();
    assert!(
        opened.starts_with(&format!("cannot open the ledger {}: ", path.display())),
        "{opened}"
    );
    let read = Ledger::read(&path).unwrap_err().to_string();
    assert!(read.starts_with(&format!("cannot read the ledger {}: ", path.display())), "{read}");
}

#[cfg(target_os = "linux")]
#[test]
#[should_panic(expected = "cannot write to the ledger /dev/full: ")]
fn an_entry_that_cannot_be_written_panics_with_the_path() {
    Ledger::open("/dev/full").unwrap().append(&accepted(1, 0));
}
