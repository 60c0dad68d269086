//! One line for a store's crate.

/// Runs the conformance suite on a store: one test for each case, in a module for each verb.
///
/// Takes what makes a new `conformance::TestDatabase`: a function or closure
/// without arguments, whose future is one.
#[macro_export]
macro_rules! conformance {
    ($database:expr $(,)?) => {
        fn conformance_database()
        -> impl ::core::future::Future<Output = impl $crate::conformance::TestDatabase> {
            ($database)()
        }

        $crate::__conformance_cases!($crate::__conformance_tests);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_tests {
    ($($verb:ident { $($case:ident)* })*) => {
        $(mod $verb {
            $(#[test]
            fn $case() {
                let database = super::conformance_database();
                $crate::conformance::run(database, $crate::conformance::$verb::$case);
            })*
        })*
    };
}
