//! Servers on the loopback, and clients of theirs.

use smalti_object::{ObjectStores, Settings};
use smalti_store::{Remote as _, Store};
use smalti_tests::s3_files::S3Files;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

/// A server that speaks S3.
pub(crate) trait S3Server: Sync {
    /// Its port on the loopback.
    fn port(&self) -> u16;

    /// Makes a bucket.
    fn make_bucket(&self, name: &str);

    /// What a client has to set.
    fn settings(&self) -> Settings {
        settings_of(self.port())
    }

    /// A new bucket.
    fn new_bucket(&self) -> String {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("bucket-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        self.make_bucket(&name);
        name
    }

    /// A store over a new bucket.
    fn new_store(&self) -> Arc<dyn Store> {
        let bucket = self.new_bucket();
        ObjectStores::new(self.settings()).open("s3", &format!("{bucket}/any")).unwrap().store
    }
}

fn settings_of(port: u16) -> Settings {
    let mut settings = Settings::default();
    for (name, value) in [
        ("s3.endpoint", format!("http://127.0.0.1:{port}").as_str()),
        ("s3.region", "us-east-1"),
        ("s3.access_key_id", "testing"),
        ("s3.secret_access_key", "testing"),
    ] {
        settings.set(name, value).unwrap();
    }
    settings
}

/// moto, in a process of its own, which ends with this one.
pub(crate) struct Moto {
    port: u16,
    _process: Child,
    _stdin: ChildStdin,
}

impl Moto {
    fn start() -> Result<Moto, String> {
        let python = std::env::var("SMALTI_SERVERS_PYTHON")
            .map_err(|_| "SMALTI_SERVERS_PYTHON names no Python that has it".to_owned())?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("servers/moto_server.py");
        let mut process = Command::new(&python)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{python}: {error}"))?;
        let (Some(stdin), Some(stdout)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("no pipes to it".to_owned());
        };
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).map_err(|error| error.to_string())?;
        let port = line.trim().parse().map_err(|_| format!("it said {line:?} instead of its port"))?;
        Ok(Moto { port, _process: process, _stdin: stdin })
    }
}

impl S3Server for Moto {
    fn port(&self) -> u16 {
        self.port
    }

    fn make_bucket(&self, name: &str) {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let head = format!(
            "PUT /{name} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        connection.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

/// moto, if it is there; otherwise why it is not was printed.
pub(crate) fn moto() -> Option<&'static Moto> {
    static MOTO: LazyLock<Result<Moto, String>> = LazyLock::new(Moto::start);
    match &*MOTO {
        Ok(moto) => Some(moto),
        Err(why) => {
            assert!(std::env::var("SMALTI_SERVERS_ALL").is_err(), "moto cannot be started: {why}");
            println!("moto is not there: {why}");
            None
        }
    }
}

/// s3s-fs, in this process.
pub(crate) struct S3s {
    server: S3Files,
    _root: tempfile::TempDir,
}

impl S3s {
    fn start() -> S3s {
        let root = tempfile::tempdir().unwrap();
        S3s { server: S3Files::start(root.path()).unwrap(), _root: root }
    }
}

impl S3Server for S3s {
    fn port(&self) -> u16 {
        self.server.port()
    }

    /// It breaks down where more of the end is asked for than there is.
    fn settings(&self) -> Settings {
        let mut settings = settings_of(self.server.port());
        settings.set("s3.suffix_ranges", "false").unwrap();
        settings
    }

    fn make_bucket(&self, name: &str) {
        self.server.make_bucket(name).unwrap();
    }
}

/// s3s-fs, in this process; started once.
pub(crate) fn s3s() -> &'static S3s {
    static S3S: LazyLock<S3s> = LazyLock::new(S3s::start);
    &S3S
}
