use anyhow::{Context, Result};
use tokio::net::TcpListener;

/// Listens at the port that `PORT` names, or else at `default`, and prints where. Port 0 is any that
/// is free.
///
/// # Errors
/// When `PORT` is no port, or someone listens there.
pub async fn listen(default: u16) -> Result<TcpListener> {
    let port = match std::env::var("PORT") {
        Ok(text) => text.parse().with_context(|| format!("PORT is `{text}`, and no port"))?,
        Err(_) => default,
    };
    let listener = TcpListener::bind(("127.0.0.1", port)).await;
    let listener = listener.with_context(|| format!("cannot listen at port {port}"))?;
    println!("listening at http://{}", listener.local_addr()?);
    Ok(listener)
}
