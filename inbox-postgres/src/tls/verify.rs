use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

/// All that servers sign with.
const ANY_SCHEME: [SignatureScheme; 10] = [
    SignatureScheme::ECDSA_NISTP256_SHA256,
    SignatureScheme::ECDSA_NISTP384_SHA384,
    SignatureScheme::ECDSA_NISTP521_SHA512,
    SignatureScheme::ED25519,
    SignatureScheme::RSA_PSS_SHA256,
    SignatureScheme::RSA_PSS_SHA384,
    SignatureScheme::RSA_PSS_SHA512,
    SignatureScheme::RSA_PKCS1_SHA256,
    SignatureScheme::RSA_PKCS1_SHA384,
    SignatureScheme::RSA_PKCS1_SHA512,
];

/// What is asked of the server's certificate, short of all.
#[derive(Debug)]
pub(super) enum Lenient {
    /// Nothing.
    AnyCertificate,
    /// Who signed it, and not for which host.
    AnyName(Arc<WebPkiServerVerifier>),
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Self::AnyName(inner) = self else { return Ok(ServerCertVerified::assertion()) };
        let verified =
            inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            // The name is looked at last: all else was found right.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    // That the server holds the certificate's key is checked where it matters whose that is. Without
    // asking that, a certificate need not even be one that we can read.

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self {
            Self::AnyCertificate => Ok(HandshakeSignatureValid::assertion()),
            Self::AnyName(inner) => inner.verify_tls12_signature(message, certificate, signed),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self {
            Self::AnyCertificate => Ok(HandshakeSignatureValid::assertion()),
            Self::AnyName(inner) => inner.verify_tls13_signature(message, certificate, signed),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        match self {
            Self::AnyCertificate => ANY_SCHEME.to_vec(),
            Self::AnyName(inner) => inner.supported_verify_schemes(),
        }
    }
}
