use std::time::Duration;

use tokio_postgres::Config;

/// How long the other side may leave what was sent unanswered, and how long a connection may be silent
/// before it is asked whether it is there.
const SILENCE: Duration = Duration::from_secs(30);

/// How soon it is asked again.
const AGAIN: Duration = Duration::from_secs(10);

/// Makes connections notice that their server is gone: left to the system, that takes hours. What
/// `config` says stands.
pub(crate) fn notice_silence(config: &mut Config, call_timeout: Duration) {
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(call_timeout);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(SILENCE);
    }
    // The driver cannot say whether its default was asked for.
    if config.get_keepalives_idle() == Config::new().get_keepalives_idle() {
        config.keepalives_idle(SILENCE);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(AGAIN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_address_says_stands_and_the_rest_is_impatient() {
        let limit = Duration::from_secs(3);
        let mut said: Config =
            "host=db connect_timeout=1 tcp_user_timeout=2 keepalives=0 keepalives_idle=4
             keepalives_interval=5"
                .parse()
                .unwrap();
        let before = said.clone();
        notice_silence(&mut said, limit);
        assert_eq!(said, before);

        let mut unsaid: Config = "host=db".parse().unwrap();
        notice_silence(&mut unsaid, limit);
        assert_eq!(unsaid.get_connect_timeout(), Some(&limit));
        assert_eq!(unsaid.get_tcp_user_timeout(), Some(&SILENCE));
        assert!(unsaid.get_keepalives());
        assert_eq!(unsaid.get_keepalives_idle(), SILENCE);
    }
}
