use tokio_postgres::config::SslMode;

/// How connections are encrypted, by the names that PostgreSQL's own programs use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tls {
    /// Never.
    Disable,
    /// Encrypted where the server can, and not where it cannot. Whose server it is is not checked.
    Prefer,
    /// Encrypted, or no connection. Whose server it is is not checked, unless a root certificate is
    /// named: then as [`VerifyCa`](Self::VerifyCa).
    Require,
    /// Encrypted, and the server's certificate is signed by an authority of one's own, whose
    /// certificate is named.
    VerifyCa,
    /// Encrypted, and the server's certificate is signed, by someone who is trusted, for the host that
    /// is connected to.
    VerifyFull,
}

impl Tls {
    /// Reads the value of `sslmode`.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "disable" => Self::Disable,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => return None,
        })
    }

    /// What the driver is told; who the server is, the connector checks.
    pub(crate) fn driver(self) -> SslMode {
        match self {
            Self::Disable => SslMode::Disable,
            Self::Prefer => SslMode::Prefer,
            Self::Require | Self::VerifyCa | Self::VerifyFull => SslMode::Require,
        }
    }

    /// The reverse, for a configuration that was made elsewhere.
    pub(crate) fn of_driver(mode: SslMode) -> Self {
        match mode {
            SslMode::Disable => Self::Disable,
            SslMode::Require => Self::Require,
            _ => Self::Prefer,
        }
    }
}
