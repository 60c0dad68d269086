//! What a piece of code logs.

use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::LazyLock;

use tracing_subscriber::fmt::MakeWriter;

/// One subscriber for the whole process, made before anything is logged: a subscriber that comes
/// later can miss what another thread is just logging for the first time. So where one test
/// captures, all that log must.
static SUBSCRIBER: LazyLock<bool> = LazyLock::new(|| {
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .without_time()
        .with_target(false)
        .with_writer(ThisThread)
        .finish();
    tracing::subscriber::set_global_default(subscriber).is_ok()
});

thread_local! {
    static LOGGED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Runs `code` and answers everything it logged on this thread, down to debug, one line each.
///
/// # Panics
/// When the process has another subscriber already.
pub fn captured(code: impl FnOnce()) -> String {
    assert!(*SUBSCRIBER, "this process has another subscriber already");
    LOGGED.take();
    code();
    String::from_utf8_lossy(&LOGGED.take()).into_owned()
}

struct ThisThread;

impl Write for ThisThread {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOGGED.with_borrow_mut(|logged| logged.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for ThisThread {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        Self
    }
}
