use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// What a server answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// One request on a connection of its own, which the server closes.
pub(crate) fn ask(address: &str, method: &str, path: &str, body: Option<&str>) -> Answer {
    let (body, length) = (body.unwrap_or_default(), body.map_or(0, str::len));
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    let mut connection = TcpStream::connect(address).unwrap();
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, body: body.to_owned() }
}
