use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

macro_rules! names {
    ($($verb:ident { $($case:ident)* })*) => {
        [$($((stringify!($verb), stringify!($case)),)*)*]
    };
}

#[test]
fn every_case_is_in_the_list() {
    let listed = crate::__conformance_cases!(names);
    let listed: BTreeSet<_> =
        listed.iter().map(|(verb, case)| (String::from(*verb), String::from(*case))).collect();
    let mut written = BTreeSet::new();
    for entry in
        fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/conformance")).unwrap()
    {
        let path = entry.unwrap().path();
        let verb = path.file_stem().unwrap().to_str().unwrap();
        collect(&path, verb, &mut written);
    }
    let forgotten: Vec<_> = written.difference(&listed).collect();
    assert!(forgotten.is_empty(), "not in the list: {forgotten:?}");
    assert!(written.len() > 100, "{} cases were found", written.len());
    assert_eq!(listed, written);
}

/// The cases in a file, or in the files of a directory.
fn collect(path: &Path, verb: &str, cases: &mut BTreeSet<(String, String)>) {
    // What the cases are written with is no case.
    if ["kit", "cases"].contains(&verb) {
        return;
    }
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            collect(&entry.unwrap().path(), verb, cases);
        }
        return;
    }
    let source = fs::read_to_string(path).unwrap();
    for line in source.lines() {
        if let Some(rest) = line.strip_prefix("pub async fn ") {
            let name = rest.split('(').next().unwrap_or_default();
            cases.insert((verb.to_owned(), name.to_owned()));
        }
    }
}
