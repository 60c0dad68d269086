//! The program as it is run.

use std::process::Command;

#[test]
fn each_context_does_its_own_work_and_neither_gets_the_others_store() {
    let ended = Command::new(env!("CARGO_BIN_EXE_bounded-contexts")).output().unwrap();
    let said = String::from_utf8(ended.stdout).unwrap();
    let errors = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(0), "{said}{errors}");
    for order in 1..=3 {
        let charged = said.find(&format!("billing: order {order} is charged")).unwrap();
        let shipped = said.find(&format!("shipping: order {order} is shipped")).unwrap();
        assert!(charged < shipped, "{said}");
    }
    let last = [
        "billing has 3 of `charge` that are completed",
        "shipping has 3 of `ship` that are completed",
        "shipping on the store of billing is refused: handlers of context `shipping` cannot be \
         registered beside handler key `charge` of context `billing`",
    ];
    let lines = said.lines().rev().take(last.len()).collect::<Vec<_>>();
    for (line, expected) in lines.into_iter().rev().zip(last) {
        assert!(line.starts_with(expected), "{said}");
    }
}
