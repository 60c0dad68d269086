use inbox_core::store::{StoreError, StoreErrorKind};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::key::Key;
use super::{url, words};
use crate::tls::{Roots, Tls, TlsSettings};

/// What no host is named with, but a part of a password may be that was taken for one.
const ODD: [char; 5] = ['@', '?', '&', '=', '#'];

/// What an address says that the driver does not know.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) tls: TlsSettings,
    pub(crate) pooler: bool,
}

/// Reads an address. What it says about TLS and poolers is more than the driver knows, and is taken out
/// of it first.
pub(crate) fn read(address: &str) -> Result<(Config, Said), StoreError> {
    let (rest, said) = match address.split_once("://") {
        Some(("postgres" | "postgresql", _)) if url::hides_options(address) => {
            let message = "options of the database's address stand before an `@`, where the driver \
                           looks for a user and a password: write each `@` in an option as %40";
            return Err(StoreError::new(StoreErrorKind::CannotOpen, message));
        }
        Some(("postgres" | "postgresql", _)) => url::take_ours(address),
        _ => words::take_ours(address),
    };
    // The text is not repeated: it holds a password.
    let config: Config = rest.parse().map_err(|error: tokio_postgres::Error| {
        let message = "the database's address cannot be understood: write it like \
                       postgres://user:password@host/database, special characters as %40, and after \
                       a `?` only options that the driver knows";
        StoreError::new(StoreErrorKind::CannotOpen, message).caused_by(error)
    })?;
    let is_odd = |host: &Host| matches!(host, Host::Tcp(name) if name.contains(ODD));
    if config.get_hosts().iter().any(is_odd) {
        let message = "the host in the database's address is none: write special characters of a \
                       user or a password as in %40 for `@` and %2F for `/`";
        return Err(StoreError::new(StoreErrorKind::CannotOpen, message));
    }
    let mut read = Said::default();
    for (key, value) in said {
        match key {
            Key::Mode => read.tls.mode = Some(mode(&value)?),
            Key::Root => read.tls.roots = Some(Roots::from_word(&value)),
            Key::Pooler => read.pooler = pooler(&value)?,
        }
    }
    Ok((config, read))
}

fn pooler(word: &str) -> Result<bool, StoreError> {
    word.parse().map_err(|_| {
        let message = format!("`pgbouncer={word}` is not known: write true or false");
        StoreError::new(StoreErrorKind::CannotOpen, message)
    })
}

fn mode(word: &str) -> Result<Tls, StoreError> {
    Tls::from_word(word).ok_or_else(|| {
        let message = format!(
            "`sslmode={word}` is not known: write disable, prefer, require, verify-ca or verify-full"
        );
        StoreError::new(StoreErrorKind::CannotOpen, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(mode: Tls, root: &str) -> TlsSettings {
        TlsSettings { mode: Some(mode), roots: Some(Roots::from_word(root)) }
    }

    #[test]
    fn what_is_said_of_tls_is_found_in_both_forms_and_the_rest_is_the_drivers() {
        for address in [
            "postgres://me:se?cret@db:5433/shop?sslmode=verify-full&application_name=a%20b\
             &sslrootcert=/my%20roots.crt",
            "postgresql://me:se?cret@db:5433/shop?sslrootcert=%2fmy roots.crt&sslmode=verify-full\
             &application_name=a%20b",
            r"host=db port = 5433 user=me sslmode= 'verify-full' password='se?cret' dbname=shop
              sslrootcert=/my\ roots.crt application_name='a b'",
        ] {
            let (config, said) = read(address).unwrap();
            assert_eq!(said.tls, settings(Tls::VerifyFull, "/my roots.crt"), "{address}");
            assert!(!said.pooler);
            assert_eq!(config.get_hosts(), [Host::Tcp("db".to_owned())]);
            assert_eq!(config.get_ports(), [5433]);
            assert_eq!(config.get_user(), Some("me"));
            assert_eq!(config.get_password(), Some(b"se?cret".as_slice()));
            assert_eq!(config.get_dbname(), Some("shop"));
            assert_eq!(config.get_application_name(), Some("a b"));
        }
    }

    #[test]
    fn an_address_that_says_nothing_of_tls_is_as_it_was() {
        for address in ["postgres://db", "postgres://me@/shop?host=/run", "host=db user=me", ""] {
            let (config, said) = read(address).unwrap();
            assert_eq!(config, address.parse().unwrap(), "{address}");
            assert_eq!(said, Said::default());
        }
    }

    #[test]
    fn an_address_may_say_that_it_is_a_poolers() {
        for (address, expected) in [
            ("postgres://db:6432/shop?pgbouncer=true&application_name=a", true),
            ("postgres://db:6432/shop?application_name=a&pgbouncer=false", false),
            ("host=db port=6432 pgbouncer=true application_name=a", true),
        ] {
            let (config, said) = read(address).unwrap();
            assert_eq!(said.pooler, expected, "{address}");
            assert_eq!(
                (config.get_ports(), config.get_application_name()),
                (&[6432][..], Some("a"))
            );
        }
    }

    #[test]
    fn what_cannot_be_read_is_told_and_the_password_is_not() {
        for (address, expected) in [
            ("postgres://me:secret@db?sslmode=allow", "write disable, prefer, require"),
            ("host=db password=secret sslmode=on", "write disable, prefer, require"),
            ("postgres://me:secret@db?pgbouncer=1", "write true or false"),
            ("host=db password='secret", "write it like postgres://"),
            ("postgres://me:secret@db?colour=red", "write it like postgres://"),
        ] {
            let error = read(address).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        }
    }

    #[test]
    fn an_at_sign_that_would_hide_the_mode_is_refused() {
        for address in [
            "postgres://db/shop?user=me@myserver&password=secret&sslmode=verify-full",
            "postgres://db/shop?sslmode=verify-full&user=me@host",
            "postgres://db/shop?sslrootcert=/a&user=me@host",
        ] {
            let error = read(address).unwrap_err().to_string();
            assert!(error.contains("as %40"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
        let error = read("postgres://me:se@cret@db/shop").unwrap_err().to_string();
        assert!(error.contains("%40") && !error.contains("cret"), "{error}");
        let (config, said) = read("postgres://db/shop?sslmode=require&user=me%40host").unwrap();
        assert_eq!((config.get_user(), said.tls.mode), (Some("me@host"), Some(Tls::Require)));
    }
}
