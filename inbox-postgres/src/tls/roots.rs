use std::path::{Path, PathBuf};

use inbox_core::store::{StoreError, StoreErrorKind};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// Who may sign the server's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Roots {
    /// Whom the system trusts.
    System,
    /// Those in this file.
    File(PathBuf),
}

impl Roots {
    /// Reads the value of `sslrootcert`.
    pub(crate) fn from_word(word: &str) -> Self {
        match word {
            "system" => Self::System,
            path => Self::File(path.into()),
        }
    }

    /// Reads the certificates; this may take a while.
    pub(crate) fn load(&self) -> Result<RootCertStore, StoreError> {
        match self {
            Self::System => system(),
            Self::File(path) => file(path),
        }
    }
}

fn file(path: &Path) -> Result<RootCertStore, StoreError> {
    let failed = |what: &str| {
        let message = format!(
            "the root certificate `{}` {what}: name with `sslrootcert` a file in PEM form, which \
             begins with -----BEGIN CERTIFICATE-----",
            path.display()
        );
        StoreError::new(StoreErrorKind::CannotOpen, message)
    };
    let text = std::fs::read(path).map_err(|error| failed("cannot be read").caused_by(error))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate =
            certificate.map_err(|error| failed("cannot be understood").caused_by(error))?;
        roots.add(certificate).map_err(|error| failed("cannot be understood").caused_by(error))?;
    }
    match roots.is_empty() {
        true => Err(failed("holds no certificate")),
        false => Ok(roots),
    }
}

fn system() -> Result<RootCertStore, StoreError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // A system's list may hold what nobody can read any more; the others count.
    let _ = roots.add_parsable_certificates(found.certs);
    if !roots.is_empty() {
        return Ok(roots);
    }
    let message = "this system trusts no certificate authority: install them (Debian: `apt-get \
                   install ca-certificates`), or name the server's root with `sslrootcert`";
    let error = StoreError::new(StoreErrorKind::CannotOpen, message);
    Err(match found.errors.into_iter().next() {
        Some(cause) => error.caused_by(cause),
        None => error,
    })
}
