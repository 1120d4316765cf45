//! Servers in processes of their own, on the loopback, which end with the program that needs them. moto, which is Python, and Azurite, which is Node's, are
//! started once.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{LazyLock, Mutex, Once};

/// A server in a process of its own, which ends with this one: when its standard input does.
pub struct Process {
    port: u16,
    /// What it is told, and what it says, line by line.
    pipes: Mutex<Option<(ChildStdin, Receiver<String>)>>,
    process: Child,
}

impl Process {
    /// Starts a server, and waits for the line that it says first, which is its port.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub fn start(command: &mut Command) -> Result<Process, String> {
        Process::start_saying(command, |line| line.trim().parse().ok())
    }

    /// As [`start`](Process::start), where the port is somewhere in the line.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub fn start_saying(
        command: &mut Command,
        port: impl FnOnce(&str) -> Option<u16>,
    ) -> Result<Process, String> {
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
        let mut server = Process { port: 0, pipes: Mutex::new(Some((stdin, lines))), process };
        server.port =
            port(&first).ok_or_else(|| format!("{command:?} said {first:?} instead of its port"))?;
        Ok(server)
    }

    /// Its port on the loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Closes its standard input, and waits for its end.
    ///
    /// # Errors
    /// Those of waiting.
    pub fn end(mut self) -> std::io::Result<ExitStatus> {
        self.pipes = Mutex::default();
        self.process.wait()
    }

    /// Tells it a line, and waits for one.
    fn ask(&self, line: &str) -> String {
        let mut pipes = self.pipes.lock().unwrap();
        let (input, lines) = pipes.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        lines.recv().unwrap()
    }
}

/// One that does not look at its standard input ends all the same.
impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A script of the folder of servers.
fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("servers").join(name)
}

/// What a variable of the environment says.
fn variable(name: &str) -> Result<OsString, String> {
    std::env::var_os(name).ok_or(format!("the variable {name} does not say where it is"))
}

/// A server that is there, or nothing; why is told once, also by tests that pass, whose output is kept back.
fn found<T>(server: &'static Result<T, String>, name: &str, told: &Once) -> Option<&'static T> {
    match server {
        Ok(server) => Some(server),
        Err(why) => {
            assert!(std::env::var("SMALTI_SERVERS_ALL").is_err(), "{name} cannot be started: {why}");
            told.call_once(|| {
                let _ = writeln!(std::io::stderr(), "{name} is not there, its tests do nothing: {why}");
            });
            None
        }
    }
}

/// moto, which speaks S3, with all its conditions.
pub struct Moto(Process);

/// moto, if it is there; started once.
pub fn moto() -> Option<&'static Moto> {
    static TOLD: Once = Once::new();
    static MOTO: LazyLock<Result<Moto, String>> = LazyLock::new(|| {
        let python = variable("SMALTI_SERVERS_PYTHON")?;
        Process::start(Command::new(python).arg(script("moto_server.py"))).map(Moto)
    });
    found(&MOTO, "moto", &TOLD)
}

impl Moto {
    /// Its port on the loopback.
    pub fn port(&self) -> u16 {
        self.0.port
    }

    /// Makes a bucket.
    ///
    /// # Panics
    /// If it cannot be made.
    pub fn make_bucket(&self, name: &str) {
        self.ask("PUT", &format!("/{name}"), &[]);
    }

    /// Sends a request that needs no head, and returns the body of the answer.
    ///
    /// # Panics
    /// If it fails, or is refused.
    pub fn ask(&self, method: &str, target: &str, body: &[u8]) -> Vec<u8> {
        // It closes after each answer, some time later, for which nobody waits.
        let mut connection = BufReader::new(TcpStream::connect(("127.0.0.1", self.port())).unwrap());
        // It looks at who signs, and not at the signature.
        let head = format!(
            "{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n\
             Authorization: AWS4-HMAC-SHA256 Credential=testing/20240101/us-east-1/s3/aws4_request, \
             SignedHeaders=host, Signature=0\r\n\r\n",
            body.len()
        );
        connection.get_mut().write_all(&[head.as_bytes(), body].concat()).unwrap();
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(connection.read_line(&mut head).unwrap() > 0, "{method} {target}: {head}");
        }
        let head = head.to_lowercase();
        let byte_len =
            head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
        let mut answer = vec![0; byte_len.unwrap_or(0)];
        connection.read_exact(&mut answer).unwrap();
        assert!(head.starts_with("http/1.1 200"), "{method} {target}: {head}");
        answer
    }
}

/// Azurite, which speaks Azure's protocol.
pub struct Azurite(Process);

/// Azurite, if it is there; started once.
pub fn azurite() -> Option<&'static Azurite> {
    static TOLD: Once = Once::new();
    static AZURITE: LazyLock<Result<Azurite, String>> = LazyLock::new(|| {
        let program = variable("SMALTI_SERVERS_AZURITE")?;
        Process::start(Command::new("node").arg(script("azurite_server.js")).arg(program)).map(Azurite)
    });
    found(&AZURITE, "Azurite", &TOLD)
}

impl Azurite {
    /// Its port on the loopback.
    pub fn port(&self) -> u16 {
        self.0.port
    }

    /// Makes a container.
    ///
    /// # Panics
    /// If it cannot be made.
    pub fn make_container(&self, name: &str) {
        assert_eq!(self.0.ask(name), format!("made {name}"));
    }
}
