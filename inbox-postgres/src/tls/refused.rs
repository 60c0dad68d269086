use std::error::Error;
use std::io;

use rustls::CertificateError;

/// What the driver says when the server answers that it has no TLS.
const WITHOUT_TLS: &str = "server does not support TLS";

/// Why TLS failed, and what to change, if it was TLS that failed.
pub(crate) fn explain(error: &tokio_postgres::Error) -> Option<String> {
    let cause = error.source()?;
    if cause.to_string() == WITHOUT_TLS {
        return Some(
            "the server has no TLS, and only encrypted connections were asked for: switch it on \
             there (`ssl = on`), or write sslmode=prefer"
                .to_owned(),
        );
    }
    let cause = cause.downcast_ref::<io::Error>()?.get_ref()?;
    match cause.downcast_ref::<rustls::Error>()? {
        rustls::Error::InvalidCertificate(why) => Some(certificate(why)),
        other => Some(format!("TLS could not be agreed upon with the server: {other}")),
    }
}

fn certificate(why: &CertificateError) -> String {
    match why {
        // The second one is an authority of a known name with another key.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "the server's certificate is signed by nobody who is trusted here, so nothing was sent \
             to it: name the root that signed it with `sslrootcert=FILE`"
                .to_owned()
        }
        CertificateError::NotValidForNameContext { expected, presented } => format!(
            "the server's certificate is not for `{}` but for {}, so nothing was sent to it: \
             connect to a name that it is for, or write sslmode=verify-ca if any name will do",
            expected.to_str(),
            names(presented)
        ),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the server's certificate has expired, so nothing was sent to it: renew it there"
                .to_owned()
        }
        // What `openssl req -x509` makes, unless told otherwise.
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            "the server shows the certificate of an authority as its own, so nothing was sent to \
             it: give it one that an authority signed, or make it with \
             `-addext basicConstraints=critical,CA:FALSE`"
                .to_owned()
        }
        other if format!("{other:?}").contains("UnsupportedCertVersion") => {
            "the server's certificate is of the old version 1, so nothing was sent to it: make one \
             of version 3, with the host in its subjectAltName"
                .to_owned()
        }
        other => format!("the server's certificate is refused, so nothing was sent to it: {other}"),
    }
}

/// The names in a certificate, which come as `DnsName("a")`.
fn names(presented: &[String]) -> String {
    let plain = |name: &String| match name.split('"').nth(1) {
        Some(name) => format!("`{name}`"),
        None => format!("`{name}`"),
    };
    match presented {
        [] => "no name in its subjectAltName".to_owned(),
        names => names.iter().map(plain).collect::<Vec<_>>().join(", "),
    }
}
