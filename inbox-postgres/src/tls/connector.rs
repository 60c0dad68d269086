use std::sync::Arc;

use inbox_core::store::{StoreError, StoreErrorKind};
use rustls::ClientConfig;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::verify::Lenient;
use super::{Roots, Tls};

/// Makes a TLS session of a connection to the server.
pub(crate) type Connector = MakeRustlsConnect;

/// What servers may insist on, and newer ones do where TLS comes without being asked for.
const PROTOCOL: &[u8] = b"postgresql";

/// Encrypts, whoever the server is.
pub(crate) fn unverified() -> Result<Connector, StoreError> {
    let provider = provider();
    connector(&provider, Arc::new(Lenient::AnyCertificate))
}

/// Encrypts, and refuses a server that is not signed for by one of the `roots`. Reads files.
pub(super) fn verified(mode: Tls, roots: &Roots) -> Result<Connector, StoreError> {
    let (provider, roots) = (provider(), Arc::new(roots.load()?));
    let verifier = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider));
    let verifier = verifier.build().map_err(|error| cannot().caused_by(error))?;
    match mode {
        Tls::VerifyFull => connector(&provider, verifier),
        _ => connector(&provider, Arc::new(Lenient::AnyName(verifier))),
    }
}

fn connector(
    provider: &Arc<CryptoProvider>,
    verifier: Arc<dyn ServerCertVerifier>,
) -> Result<Connector, StoreError> {
    let config = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| cannot().caused_by(error))?;
    let mut config =
        config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(MakeRustlsConnect::new(config))
}

/// Named, because a program may have installed another one for itself, or none.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn cannot() -> StoreError {
    StoreError::new(StoreErrorKind::CannotOpen, "TLS cannot be set up")
}
