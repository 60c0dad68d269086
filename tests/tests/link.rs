//! A name used in two crates does not link, and the message says the name.
//!
//! The slow profiles run in `cargo xtask link`, which sets `INBOX_LINK_PROFILES`.

use inbox_tests::fixture::{Build, Fixture};

/// The profiles to build with: dev and fat LTO, the two ends, unless told otherwise.
fn profiles() -> Vec<String> {
    let chosen = std::env::var("INBOX_LINK_PROFILES").unwrap_or_else(|_| "dev,fat".to_owned());
    chosen.split(',').map(str::to_owned).collect()
}

fn build_in_each_profile(package: &str, judge: impl Fn(&str, Build)) {
    let fixture = Fixture::new("link");
    for profile in profiles() {
        judge(&profile, fixture.cargo("build", package, &["--profile", &profile]));
    }
}

/// `problem` is what the registry says where the linker says nothing: thin LTO keeps one of two
/// equal symbols, so there a duplicate is found at start-up.
fn is_refused(package: &str, symbol: &str, problem: &str) {
    build_in_each_profile(package, |profile, build| {
        if profile == "thin" {
            let run = Fixture::new("link").cargo("run", package, &["--profile", "thin"]);
            assert!(run.output.contains(problem), "profile thin said:\n{}", run.output);
        } else {
            assert!(!build.succeeded, "{package} links in profile {profile}");
            assert!(build.output.contains(symbol), "profile {profile} said:\n{}", build.output);
        }
    });
}

#[test]
fn one_handler_per_key_links_and_registers() {
    build_in_each_profile("app-one-handler", |profile, build| {
        assert!(build.succeeded, "profile {profile} said:\n{}", build.output);
    });
    let run = Fixture::new("link").cargo("run", "app-one-handler", &[]);
    assert_eq!(run.output, "contract payments.pay v1\nhandler charge-card\n");
}

#[test]
fn a_handler_key_of_two_crates_does_not_link() {
    is_refused(
        "app-same-key",
        "inbox_handler_key__charge-card__is_registered_more_than_once",
        "handler key `charge-card` is registered more than once",
    );
}

#[test]
fn a_key_that_another_crate_has_as_legacy_does_not_link() {
    is_refused(
        "app-same-key-as-legacy",
        "inbox_handler_key__charge-card__is_registered_more_than_once",
        "handler key `charge-card` is registered more than once",
    );
}

#[test]
fn one_version_of_a_contract_in_two_crates_does_not_link() {
    is_refused(
        "app-same-contract",
        "inbox_contract__payments.pay__version_1__is_registered_more_than_once",
        "version 1 of contract `payments.pay` is registered more than once",
    );
}

#[test]
fn in_dev_the_linker_says_where_both_are() {
    let build = Fixture::new("link").cargo("build", "app-same-key-as-legacy", &[]);
    for place in ["charges/src/lib.rs:4", "charges-renamed/src/lib.rs:8"] {
        assert!(build.output.contains(place), "{place} is missing in:\n{}", build.output);
    }
}

#[test]
fn two_versions_of_one_contract_link_and_register() {
    build_in_each_profile("app-two-versions", |profile, build| {
        assert!(build.succeeded, "profile {profile} said:\n{}", build.output);
    });
    let run = Fixture::new("link").cargo("run", "app-two-versions", &[]);
    assert_eq!(run.output, "contract payments.pay v1\ncontract payments.pay v2\n");
}

#[test]
fn a_dynamic_library_with_handlers_links() {
    build_in_each_profile("plugin", |profile, build| {
        assert!(build.succeeded, "profile {profile} said:\n{}", build.output);
    });
}
