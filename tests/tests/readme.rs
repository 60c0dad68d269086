//! What the README shows is what runs.

#[test]
fn the_readme_shows_the_quickstart_as_it_is() {
    let readme = include_str!("../../README.md");
    let program = include_str!("../../examples/quickstart/src/main.rs");
    // Its first lines say how to run it.
    let code = program.lines().filter(|line| !line.starts_with("//!")).collect::<Vec<_>>();
    let code = code.join("\n");
    assert!(readme.contains(code.trim()), "copy examples/quickstart/src/main.rs to the README");
}
