/// Waits until the operating system asks this program to stop: Ctrl-C, or SIGTERM, which is how
/// service managers and containers ask. For `inbox.run_until(shutdown_signal())`.
///
/// From the first call on, the program does not end by itself on these signals any more.
pub async fn shutdown_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => {
                tokio::select! {
                    _ = terminate.recv() => {}
                    () = interrupt() => {}
                }
                return;
            }
            Err(error) => tracing::error!(%error, "cannot listen for SIGTERM"),
        }
    }
    interrupt().await;
}

async fn interrupt() {
    if let Err(error) = tokio::signal::ctrl_c().await {
        // To stop at once because nobody can ask for it would be worse.
        tracing::error!(%error, "cannot listen for Ctrl-C");
        std::future::pending::<()>().await;
    }
}
