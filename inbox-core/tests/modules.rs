//! The modules of this crate depend on each other in one direction, and the first of them on neither
//! `tower` nor `inventory`.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Each depends on those before it. `|` ends what is there without the feature `dispatch`.
const ORDER: &[&str] = &[
    "timestamp",
    "clock",
    "location",
    "error",
    "message",
    "policy",
    "settle",
    "contract",
    "store",
    "schedule",
    "provide",
    "|",
    "panic",
    "outcome",
    "request",
    "extract",
    "handler",
    "registry",
    "dispatch",
];

/// What stands at the root, and the module that holds it.
const AT_ROOT: &[(&str, &str)] = &[
    ("Timestamp", "timestamp"),
    ("ParseTimestampError", "timestamp"),
    ("Clock", "clock"),
    ("Now", "clock"),
    ("StoreClock", "clock"),
    ("Location", "location"),
    ("dispose", "panic"),
];

fn rank(module: &str) -> Option<usize> {
    ORDER.iter().position(|one| *one == module)
}

/// The texts of a module's files.
fn sources(module: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (file, mut directories) = (root.join(format!("{module}.rs")), vec![root.join(module)]);
    let mut sources: Vec<_> = fs::read_to_string(file).into_iter().collect();
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => directories.push(path),
                false => sources.push(fs::read_to_string(path).unwrap()),
            }
        }
    }
    sources
}

/// The modules that code of this text names, examples and other comments left out.
fn named(source: &str) -> BTreeSet<String> {
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code: String = code.collect::<Vec<_>>().join("\n");
    let mut named = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let group = match rest.strip_prefix('{') {
            Some(group) => group.split('}').next().unwrap_or_default(),
            None => rest.split(|it: char| !it.is_alphanumeric() && it != '_').next().unwrap(),
        };
        for name in group.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let module = AT_ROOT.iter().find(|(at_root, _)| *at_root == name);
            named.insert(module.map_or(name, |(_, module)| module).to_owned());
        }
    }
    named
}

#[test]
fn every_module_depends_only_on_those_before_it() {
    let mut wrong = Vec::new();
    for (at, module) in ORDER.iter().enumerate().filter(|(_, module)| **module != "|") {
        let sources = sources(module);
        assert!(!sources.is_empty(), "there is no module `{module}`");
        for name in sources.iter().flat_map(|source| named(source)) {
            match rank(&name) {
                Some(rank) if rank <= at => {}
                Some(_) => wrong.push(format!("`{module}` depends on `{name}`, which is after it")),
                None => wrong
                    .push(format!("`{module}` names `{name}`, which has no place in the order")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_module_has_its_place() {
    let lib = include_str!("../src/lib.rs");
    let declared = lib.lines().filter_map(|line| {
        let line = line.trim_start_matches("pub ");
        line.strip_prefix("mod ")?.strip_suffix(';')
    });
    for module in declared.filter(|module| *module != "__private") {
        assert!(rank(module).is_some(), "`{module}` has no place in the order");
    }
}

#[test]
fn what_a_store_needs_names_neither_tower_nor_inventory() {
    let stores = ORDER.iter().take_while(|module| **module != "|");
    for module in stores {
        for source in sources(module) {
            for library in ["tower", "inventory", "tokio_util"] {
                let uses = source.lines().any(|line| {
                    !line.trim_start().starts_with("//") && line.contains(&format!("{library}::"))
                });
                assert!(!uses, "`{module}` uses `{library}`");
            }
        }
    }
}
