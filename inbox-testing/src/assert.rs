/// Asserts that a command was scheduled, whether or not it has been handled since.
///
/// Takes the contract alone, or a pattern with an optional condition; the path before the fields is
/// the contract's type. To be used in async code. Answers nothing.
///
/// ```standalone_crate
/// use inbox::inbox_contract;
/// use inbox::testing::{TestInbox, assert_scheduled};
///
/// #[inbox_contract(name = "send-mail", version = 1)]
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct SendMail { to: String, text: String }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), inbox::Error> {
/// let inbox = TestInbox::builder().build().await?;
/// inbox.schedule(SendMail { to: "ann@example.org".to_owned(), text: "hello".to_owned() }).await;
/// assert_scheduled!(inbox, SendMail);
/// assert_scheduled!(inbox, SendMail { to, .. } if to == "ann@example.org");
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! assert_scheduled {
    ($inbox:expr, $contract:ident $(::$rest:ident)* $({ $($fields:tt)* })? $(if $condition:expr)? $(,)?) => {{
        let __scheduled: ::std::vec::Vec<$contract $(::$rest)*> = $inbox.scheduled().await;
        #[allow(unused_variables, irrefutable_let_patterns)]
        let __found = __scheduled.iter().any(|__command| match __command {
            $crate::__pattern!($contract $(::$rest)* $({ $($fields)* })?) $(if $condition)? => true,
            #[allow(unreachable_patterns)]
            _ => false,
        });
        ::std::assert!(
            __found,
            "no command like `{}` is scheduled; of its contract there are {}",
            ::std::stringify!($contract $(::$rest)* $({ $($fields)* })? $(if $condition)?),
            $crate::__shown(&__scheduled),
        );
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __pattern {
    ($($path:ident)::+) => { _ };
    ($($path:ident)::+ { $($fields:tt)* }) => { $($path)::+ { $($fields)* } };
}

/// Commands as JSON, for whoever wonders what was scheduled instead.
#[doc(hidden)]
pub fn __shown<T: inbox_core::contract::Contract>(commands: &[T]) -> String {
    let shown = commands.iter().filter_map(|command| command.to_payload().ok());
    let shown: Vec<_> = shown
        .map(|payload| format!("\n  {}", String::from_utf8_lossy(payload.as_bytes())))
        .collect();
    if shown.is_empty() { "none".to_owned() } else { format!("these:{}", shown.concat()) }
}
