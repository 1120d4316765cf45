//! Servers on the loopback, and clients of theirs.

use crate::gcs::gcs;
use smalti::Context;
use smalti_object::{ObjectStores, Settings};
use smalti_store::{Remote as _, Store};
use smalti_tests::s3_files::S3Files;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, LazyLock, Mutex};

/// A server of an object store.
pub(crate) trait Server: Sync {
    /// What it is, for messages.
    fn name(&self) -> &'static str;

    /// The scheme of its URIs.
    fn scheme(&self) -> &'static str;

    /// Makes a bucket.
    fn make_bucket(&self, name: &str);

    /// What a client has to set.
    fn settings(&self) -> Settings;

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
        ObjectStores::new(self.settings()).open(self.scheme(), &format!("{bucket}/any")).unwrap().store
    }

    /// A new context that knows the server.
    fn context(&self) -> Context {
        Context::new().storage(self.settings())
    }

    /// The URI of a path in a new bucket.
    fn new_uri(&self, path: &str) -> String {
        format!("{}://{}/{path}", self.scheme(), self.new_bucket())
    }
}

/// All servers that are there.
pub(crate) fn servers() -> Vec<&'static dyn Server> {
    let moto = moto().map(|moto| moto as &dyn Server);
    let azurite = azurite().map(|azurite| azurite as &dyn Server);
    [Some(s3s() as &dyn Server), Some(gcs()), moto, azurite].into_iter().flatten().collect()
}

/// What a client of the server on a port has to set.
pub(crate) fn settings_of(port: u16) -> Settings {
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

/// A server in a process of its own, which ends with this one: when its standard input does.
struct Process {
    port: u16,
    /// What it is told, and what it says, line by line.
    pipes: Mutex<(ChildStdin, Receiver<String>)>,
    _process: Child,
}

impl Process {
    /// Starts a script of this folder with the program that runs it, and waits for the port that it says first.
    fn start(command: &mut Command) -> Result<Process, String> {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{command:?}: {error}"))?;
        let (Some(stdin), Some(stdout)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("no pipes to it".to_owned());
        };
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // Where nobody listens it is read all the same.
                let _ = sender.send(line);
            }
        });
        let first = lines.recv().map_err(|_| format!("{command:?} ended and said nothing"))?;
        let port =
            first.trim().parse().map_err(|_| format!("{command:?} said {first:?} instead of its port"))?;
        Ok(Process { port, pipes: Mutex::new((stdin, lines)), _process: process })
    }

    /// Tells it a line, and waits for one.
    fn ask(&self, line: &str) -> String {
        let mut pipes = self.pipes.lock().unwrap();
        writeln!(pipes.0, "{line}").unwrap();
        pipes.1.recv().unwrap()
    }
}

/// A script of this folder.
fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("servers").join(name)
}

/// What a variable of the environment says.
fn variable(name: &str) -> Result<OsString, String> {
    std::env::var_os(name).ok_or(format!("the variable {name} does not say where it is"))
}

/// A server that is there, or nothing, and why was printed.
fn found<T>(server: &'static Result<T, String>, name: &str) -> Option<&'static T> {
    match server {
        Ok(server) => Some(server),
        Err(why) => {
            assert!(std::env::var("SMALTI_SERVERS_ALL").is_err(), "{name} cannot be started: {why}");
            println!("{name} is not there: {why}");
            None
        }
    }
}

/// moto, which speaks S3, with all its conditions.
pub(crate) struct Moto(Process);

impl Moto {
    /// Its port on the loopback.
    pub(crate) fn port(&self) -> u16 {
        self.0.port
    }
}

/// moto, if it is there; started once.
pub(crate) fn moto() -> Option<&'static Moto> {
    static MOTO: LazyLock<Result<Moto, String>> = LazyLock::new(|| {
        let python = variable("SMALTI_SERVERS_PYTHON")?;
        Process::start(Command::new(python).arg(script("moto_server.py"))).map(Moto)
    });
    found(&MOTO, "moto")
}

impl Server for Moto {
    fn name(&self) -> &'static str {
        "moto"
    }

    fn scheme(&self) -> &'static str {
        "s3"
    }

    fn settings(&self) -> Settings {
        settings_of(self.0.port)
    }

    fn make_bucket(&self, name: &str) {
        let mut connection = TcpStream::connect(("127.0.0.1", self.0.port)).unwrap();
        let head = format!(
            "PUT /{name} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        connection.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

/// Azurite, which speaks Azure's protocol.
pub(crate) struct Azurite(Process);

/// Azurite, if it is there; started once.
pub(crate) fn azurite() -> Option<&'static Azurite> {
    static AZURITE: LazyLock<Result<Azurite, String>> = LazyLock::new(|| {
        let program = variable("SMALTI_SERVERS_AZURITE")?;
        Process::start(Command::new("node").arg(script("azurite_server.js")).arg(program)).map(Azurite)
    });
    found(&AZURITE, "Azurite")
}

/// The account that every Azurite has, and its key, which is no secret.
const ACCOUNT: (&str, &str) = (
    "devstoreaccount1",
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
);

impl Server for Azurite {
    fn name(&self) -> &'static str {
        "Azurite"
    }

    fn scheme(&self) -> &'static str {
        "az"
    }

    fn settings(&self) -> Settings {
        let (account, key) = ACCOUNT;
        let mut settings = Settings::default();
        settings.set("azure.account", account).unwrap();
        settings.set("azure.key", key).unwrap();
        settings.set("azure.endpoint", &format!("http://127.0.0.1:{}/{account}", self.0.port)).unwrap();
        settings
    }

    fn make_bucket(&self, name: &str) {
        assert_eq!(self.0.ask(name), format!("made {name}"));
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

impl Server for S3s {
    fn name(&self) -> &'static str {
        "s3s-fs"
    }

    fn scheme(&self) -> &'static str {
        "s3"
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
