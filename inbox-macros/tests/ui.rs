//! What the compiler tells a user, mistake by mistake, and what it accepts.

#[test]
fn every_mistake_is_answered_with_what_to_write_and_correct_code_compiles() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/fail/*.rs");
    cases.pass("tests/ui/pass/*.rs");
}
