use percent_encoding::percent_decode_str;

use super::key::Key;

/// Whether what is said of TLS is in front of the first `@`. The driver takes all that for a user and a
/// password, and whatever follows for the host.
pub(super) fn hides_ours(url: &str) -> bool {
    let credentials = url.split_once('@').map_or("", |(credentials, _)| credentials);
    credentials.contains("sslmode=") || credentials.contains("sslrootcert=")
}

/// `postgres://user:password@host/database?key=value&key=value`.
pub(super) fn take_ours(url: &str) -> (String, Vec<(Key, String)>) {
    // A password may contain a question mark, as the driver reads it.
    let after_credentials = url.find('@').unwrap_or(0);
    let Some(start) = url[after_credentials..].find('?') else {
        return (url.to_owned(), Vec::new());
    };
    let (before, parameters) = url.split_at(after_credentials + start);
    let (mut said, mut others) = (Vec::new(), Vec::new());
    for parameter in parameters[1..].split('&') {
        let ours = parameter.split_once('=').and_then(|(key, value)| {
            let key = Key::from_word(&percent_decode_str(key).decode_utf8_lossy())?;
            Some((key, percent_decode_str(value).decode_utf8_lossy().into_owned()))
        });
        match ours {
            Some(ours) => said.push(ours),
            None => others.push(parameter),
        }
    }
    let rest = match others.is_empty() {
        true => before.to_owned(),
        false => format!("{before}?{}", others.join("&")),
    };
    (rest, said)
}
