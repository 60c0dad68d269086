use inbox_core::store::{StoreError, StoreErrorKind};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::connector::{unverified, verified};
use super::{Connector, Roots, Tls};

/// What was said about TLS, in an address or by the program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TlsSettings {
    pub(crate) mode: Option<Tls>,
    pub(crate) roots: Option<Roots>,
}

impl TlsSettings {
    /// These, and where they say nothing, `others`.
    pub(crate) fn or(self, others: Self) -> Self {
        Self { mode: self.mode.or(others.mode), roots: self.roots.or(others.roots) }
    }

    /// Tells the driver, and makes what encrypts for it. What is not said here, `config` says.
    pub(crate) async fn apply(self, config: &mut Config) -> Result<Connector, StoreError> {
        let (mode, roots) = self.resolve(Tls::of_driver(config.get_ssl_mode()))?;
        // As everywhere, what stays on this machine is not encrypted.
        let is_local = |host: &Host| !matches!(host, Host::Tcp(_));
        let hosts = config.get_hosts();
        match !hosts.is_empty() && hosts.iter().all(is_local) {
            true => config.ssl_mode(Tls::Disable.driver()),
            false => config.ssl_mode(mode.driver()),
        };
        // The driver wants a name for every encrypted connection.
        if config.get_hosts().is_empty() {
            for address in config.get_hostaddrs().to_vec() {
                config.host(address.to_string());
            }
        }
        let Some(roots) = roots else { return unverified() };
        // Files are read.
        let connector = tokio::task::spawn_blocking(move || verified(mode, &roots)).await;
        connector.map_err(|error| {
            StoreError::new(StoreErrorKind::CannotOpen, "the root certificates were not read")
                .caused_by(error)
        })?
    }

    /// How to encrypt, and whom to trust, if that is asked.
    fn resolve(self, unsaid: Tls) -> Result<(Tls, Option<Roots>), StoreError> {
        let refused = |message: &str| Err(StoreError::new(StoreErrorKind::CannotOpen, message));
        let mode = match (self.mode, &self.roots) {
            (Some(mode), _) => mode,
            (None, Some(Roots::System)) => Tls::VerifyFull,
            (None, _) => unsaid,
        };
        match (mode, self.roots) {
            (Tls::VerifyFull, roots) => Ok((mode, Some(roots.unwrap_or(Roots::System)))),
            (Tls::VerifyCa | Tls::Require, Some(roots @ Roots::File(_))) => {
                Ok((Tls::VerifyCa, Some(roots)))
            }
            (Tls::VerifyCa, _) | (Tls::Require | Tls::Prefer, Some(Roots::System)) => refused(
                "authorities that the system trusts sign for anybody, so the server's name must be \
                 checked too: write sslmode=verify-full, or name an authority of your own with \
                 `sslrootcert=FILE`",
            ),
            (Tls::Prefer, Some(Roots::File(_))) => refused(
                "a root certificate is named, and `prefer` would go on without any: write \
                 sslmode=verify-full, or leave the certificate out",
            ),
            (Tls::Disable, _) | (Tls::Require | Tls::Prefer, None) => Ok((mode, None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(mode: Option<Tls>, roots: Option<&str>) -> Result<(Tls, Option<Roots>), StoreError> {
        TlsSettings { mode, roots: roots.map(Roots::from_word) }.resolve(Tls::Prefer)
    }

    #[test]
    fn a_mode_and_a_root_mean_together_what_they_mean_to_postgresql() {
        let system = || Some(Roots::System);
        let file = || Some(Roots::File("root.crt".into()));
        for (mode, roots, expected) in [
            (None, None, (Tls::Prefer, None)),
            (Some(Tls::Disable), Some("root.crt"), (Tls::Disable, None)),
            (Some(Tls::Require), None, (Tls::Require, None)),
            (Some(Tls::Require), Some("root.crt"), (Tls::VerifyCa, file())),
            (Some(Tls::VerifyCa), Some("root.crt"), (Tls::VerifyCa, file())),
            (Some(Tls::VerifyFull), None, (Tls::VerifyFull, system())),
            (Some(Tls::VerifyFull), Some("root.crt"), (Tls::VerifyFull, file())),
            (None, Some("system"), (Tls::VerifyFull, system())),
        ] {
            assert_eq!(said(mode, roots).unwrap(), expected, "{mode:?} {roots:?}");
        }
    }

    #[test]
    fn a_check_that_would_check_nothing_is_refused_with_what_to_write() {
        for (mode, root) in [
            (Some(Tls::Require), Some("system")),
            (Some(Tls::VerifyCa), Some("system")),
            (Some(Tls::VerifyCa), None),
            (None, Some("root.crt")),
        ] {
            let error = said(mode, root).unwrap_err();
            assert!(error.to_string().contains("write sslmode=verify-full"), "{error}");
        }
    }
}
