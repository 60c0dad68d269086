use std::path::PathBuf;

use inbox_testing::postgres::PostgresServer;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::sync::OnceCell;
use tokio_postgres::{Client, NoTls};

/// A server with TLS, for all tests of this process.
static SERVER: OnceCell<Encrypted> = OnceCell::const_new();

/// A server whose certificate is for `localhost`.
pub(crate) struct Encrypted {
    server: PostgresServer,
    pub(crate) port: u16,
    /// Who signed it.
    pub(crate) root: PathBuf,
    /// Someone who did not.
    pub(crate) other_root: PathBuf,
}

pub(crate) async fn encrypted() -> &'static Encrypted {
    SERVER.get_or_init(start).await
}

type Authority = CertifiedIssuer<'static, KeyPair>;

/// Its name is that of the other ones too, its key is not.
fn authority() -> Authority {
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

async fn start() -> Encrypted {
    let server = PostgresServer::start().unwrap();
    let (authority, other, key) = (authority(), authority(), KeyPair::generate().unwrap());
    let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    let client = connect(&server.url("postgres")).await;
    // The server writes its own files: it is another user's, and picky about whose its key is.
    let write = async |text: &str, program: &str| {
        let lines = format!("SELECT unnest(string_to_array('{text}', E'\\n'))");
        client.batch_execute(&format!("COPY ({lines}) TO PROGRAM '{program}'")).await.unwrap();
    };
    write(&certificate.pem(), "cat > server.crt").await;
    write(&key.serialize_pem(), "umask 077 && cat > server.key").await;
    let scram = "hostssl all keeper all scram-sha-256";
    write(scram, "cat - pg_hba.conf > new_hba.conf && mv new_hba.conf pg_hba.conf").await;
    for statement in [
        "SET password_encryption = 'scram-sha-256'",
        "CREATE ROLE keeper LOGIN PASSWORD 'secret'",
        "ALTER SYSTEM SET log_connections = on",
        "ALTER SYSTEM SET ssl = on",
        "SELECT pg_reload_conf()",
    ] {
        client.batch_execute(statement).await.unwrap();
    }
    let port = server.url("").parse::<tokio_postgres::Config>().unwrap().get_ports()[0];
    // Goes with the server.
    let directory = server.directory();
    let (root, other_root) = (directory.join("root.crt"), directory.join("other.crt"));
    std::fs::write(&root, authority.pem()).unwrap();
    std::fs::write(&other_root, other.pem()).unwrap();
    let server = Encrypted { server, port, root, other_root };
    // It takes new settings as soon as it comes to it.
    while !server.says("SHOW ssl", "on").await {
        tokio::task::yield_now().await;
    }
    // What several tests would otherwise make at the same time.
    let options = inbox_postgres::PostgresOptions::new();
    options.migrate(&server.server.url("postgres")).await.unwrap();
    server
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    // Ends with its client.
    tokio::spawn(async move { connection.await.ok() });
    client
}

/// Lets a server make a certificate of its own with a shell's commands, and show it.
pub(crate) async fn show(server: &PostgresServer, make: &str) {
    let url = server.url("postgres");
    let client = connect(&url).await;
    for statement in [
        &format!("COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; umask 077; {make}'"),
        "ALTER SYSTEM SET ssl = on",
        "SELECT pg_reload_conf()",
    ] {
        client.batch_execute(statement).await.unwrap();
    }
    // It takes new settings as soon as it comes to it.
    let is_on = "SELECT current_setting('ssl') = 'on'";
    while !connect(&url).await.query_one(is_on, &[]).await.unwrap().get::<_, bool>(0) {
        tokio::task::yield_now().await;
    }
}

impl Encrypted {
    pub(crate) async fn connect(&self) -> Client {
        connect(&self.server.url("postgres")).await
    }

    /// By the name that it proves, for a program of this name.
    pub(crate) fn address(&self, name: &str, said: &str) -> String {
        let port = self.port;
        format!(
            "host=localhost port={port} user=postgres dbname=postgres application_name={name} {said}"
        )
    }

    async fn says(&self, question: &str, answer: &str) -> bool {
        let row = self.connect().await.query_one(question, &[]).await.unwrap();
        row.get::<_, &str>(0) == answer
    }

    /// Whether the connections of the program of this name are encrypted; there is at least one.
    pub(crate) async fn is_encrypted(&self, name: &str) -> bool {
        let question = format!(
            "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
             WHERE application_name = '{name}'"
        );
        self.connect().await.query_one(&question, &[]).await.unwrap().get(0)
    }

    /// Until this many connections of that program wait for a lock.
    pub(crate) async fn until_waiting(&self, name: &str, number: i64) {
        let client = self.connect().await;
        let question = "SELECT count(*) FROM pg_stat_activity
                        WHERE application_name = $1 AND wait_event_type = 'Lock'";
        while client.query_one(question, &[&name]).await.unwrap().get::<_, i64>(0) != number {
            tokio::task::yield_now().await;
        }
    }

    /// The server's log, when this was said so many times.
    pub(crate) async fn log_with(&self, times: usize, said: &str) -> String {
        loop {
            let log = std::fs::read_to_string(self.server.directory().join("log")).unwrap();
            if log.matches(said).count() >= times {
                return log;
            }
            tokio::task::yield_now().await;
        }
    }
}
