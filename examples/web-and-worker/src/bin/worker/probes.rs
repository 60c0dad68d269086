use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use inbox::hosting::{Health, HostControl};
use tokio::net::TcpListener;

/// Answers `/live` and `/ready`, for as long as the process lives.
pub(crate) async fn serve(listener: TcpListener, control: HostControl) {
    let routes = Router::new()
        .route("/live", get(async |State(host): Host| answer(&host.health(), Health::is_live)))
        .route("/ready", get(async |State(host): Host| answer(&host.health(), Health::is_ready)))
        .with_state(control);
    if let Err(error) = axum::serve(listener, routes).await {
        tracing::error!(%error, "nobody answers probes any more");
    }
}

type Host = State<HostControl>;

/// The text is for people: it says which loop has which trouble.
fn answer(health: &Health, is_well: fn(&Health) -> bool) -> (StatusCode, String) {
    let status = match is_well(health) {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, format!("{health}\n"))
}
