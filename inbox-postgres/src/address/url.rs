use percent_encoding::percent_decode_str;

use super::key::Key;

/// Options that stand in addresses.
const OPTIONS: [&str; 10] = [
    "user",
    "password",
    "host",
    "port",
    "dbname",
    "options",
    "application_name",
    "sslmode",
    "sslrootcert",
    "pgbouncer",
];

/// Whether options stand in front of the first `@`. The driver takes all that for a user and a password,
/// and whatever follows, a mode of TLS or a password among it, for the host.
pub(super) fn hides_options(url: &str) -> bool {
    let credentials = url.split_once('@').map_or("", |(credentials, _)| credentials);
    let options = credentials.split_once('?').map_or("", |(_, options)| options);
    let mut keys = options.split('&').filter_map(|option| option.split_once('='));
    keys.any(|(key, _)| OPTIONS.contains(&key))
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
