//! A server on the loopback that answers what a test says, and remembers what it was asked.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What a server was asked.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) method: String,
    /// Path and query; the whole address at a proxy.
    pub(super) target: String,
    /// By their names in small letters.
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: String,
}

impl Asked {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// Key, and region, that a request to S3 is signed with; nothing for one that is not signed.
    pub(super) fn signed(&self) -> (&str, &str) {
        let scope = self.header("authorization").split_once("Credential=").map_or("", |(_, rest)| rest);
        let mut parts = scope.split(',').next().unwrap_or_default().split('/');
        let key = parts.next().unwrap_or_default();
        (key, parts.nth(1).unwrap_or_default())
    }

    /// A field of a form.
    pub(super) fn field(&self, name: &str) -> String {
        let form = reqwest::Url::parse(&format!("http://form/?{}", self.body)).unwrap();
        form.query_pairs()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
            .unwrap_or_default()
    }
}

/// What a server answers.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Answer {
    pub(super) fn new(status: u16, body: impl Into<String>) -> Answer {
        Answer { status, headers: Vec::new(), body: body.into() }
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Answer {
        self.headers.push((name, value.into()));
        self
    }

    /// A refusal of S3 with a code.
    pub(super) fn refusal(status: u16, code: &str) -> Answer {
        Answer::new(status, format!("<Error><Code>{code}</Code><Message>no</Message></Error>"))
    }
}

/// A server.
pub(super) struct Canned {
    port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Canned {
    pub(super) fn new(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Canned {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (all_asked, answer) = (Arc::clone(&asked), Arc::new(answer));
        // It ends with the process.
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let (all_asked, answer) = (Arc::clone(&all_asked), Arc::clone(&answer));
                std::thread::spawn(move || {
                    // Who asks may go away.
                    let _ = connection.and_then(|connection| serve(connection, &all_asked, &*answer));
                });
            }
        });
        Canned { port, asked }
    }

    pub(super) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What it was asked, and forgets.
    pub(super) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

fn serve(
    connection: TcpStream,
    all_asked: &Mutex<Vec<Asked>>,
    answer: &dyn Fn(&Asked) -> Answer,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(connection);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(()) };
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let len = headers.get("content-length").map_or(0, |len| len.parse().unwrap());
    let mut body = vec![0; len];
    reader.read_exact(&mut body)?;
    let asked = Asked { method, target, headers, body: String::from_utf8_lossy(&body).into_owned() };
    all_asked.lock().unwrap().push(asked.clone());
    let answer = answer(&asked);
    let mut head = format!("HTTP/1.1 {} Said\r\nConnection: close\r\n", answer.status);
    for (name, value) in &answer.headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("Content-Length: {}\r\n\r\n", answer.body.len());
    let mut connection = reader.into_inner();
    connection.write_all(head.as_bytes())?;
    if asked.method != "HEAD" {
        connection.write_all(answer.body.as_bytes())?;
    }
    connection.flush()
}
