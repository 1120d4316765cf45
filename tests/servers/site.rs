//! A web server over a folder, on the loopback, that can have the manners of several: how they list folders, what they refuse, where they lead.

use smalti_store::MANIFEST_FILE;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// How folders are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    Nginx,
    NginxJson,
    Apache,
    Python,
    /// Not at all: this status.
    Refused(u16),
}

/// Where the server leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leads {
    Nowhere,
    /// From everything to the same below `/moved`.
    Moved,
    /// From each address to itself by way of another.
    Circle,
    /// On and on.
    On,
    /// To the same path of another port.
    To(u16),
}

/// What a server does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manners {
    pub(crate) listing: Listing,
    pub(crate) ranges: bool,
    pub(crate) suffixes: bool,
    pub(crate) heads: bool,
    /// Whether the length of a whole file is said in front of it.
    pub(crate) lengths: bool,
    /// Whether manifests can be asked for unless they have changed.
    pub(crate) etags: bool,
    pub(crate) leads: Leads,
    /// Whether no page of a folder is sent before the manifest that is asked for at the same time.
    pub(crate) pages_come_last: bool,
    /// A name and a password in Base64.
    pub(crate) login: Option<&'static str>,
}

impl Default for Manners {
    fn default() -> Manners {
        Manners {
            listing: Listing::Nginx,
            ranges: true,
            suffixes: true,
            heads: true,
            lengths: true,
            etags: true,
            pages_come_last: false,
            leads: Leads::Nowhere,
            login: None,
        }
    }
}

/// A request that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// As it was sent.
    pub(crate) path: String,
    pub(crate) range: Option<String>,
    pub(crate) login: Option<String>,
    pub(crate) status: u16,
    pub(crate) sent_byte_len: u64,
}

/// A server; it ends when it is dropped.
pub(crate) struct Site {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    root: PathBuf,
    manners: Manners,
    asked: Mutex<Vec<Asked>>,
    /// So many requests are told to come back.
    busy: AtomicUsize,
    /// So many bodies break off in their middle.
    torn: AtomicUsize,
    /// So many answers to questions for manifests are on their way.
    manifests_sent: AtomicUsize,
    is_over: AtomicBool,
}

struct Response {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    /// Said instead of the body's length.
    byte_len: Option<u64>,
    is_chunked: bool,
}

impl Response {
    fn of(status: u16) -> Response {
        Response { status, headers: Vec::new(), body: Vec::new(), byte_len: None, is_chunked: false }
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Response {
        self.headers.push((name, value.into()));
        self
    }
}

struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl Site {
    pub(crate) fn new(root: &Path, manners: Manners) -> Site {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            root: root.to_owned(),
            manners,
            asked: Mutex::default(),
            busy: AtomicUsize::new(0),
            torn: AtomicUsize::new(0),
            manifests_sent: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        });
        let of_thread = Arc::clone(&shared);
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                if of_thread.is_over.load(Ordering::Relaxed) {
                    break;
                }
                let (Ok(connection), shared) = (connection, Arc::clone(&of_thread)) else { continue };
                // Who breaks off is no failure of the server's.
                std::thread::spawn(move || shared.serve(connection).ok());
            }
        });
        Site { port, shared }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The URI of a path below the folder.
    pub(crate) fn uri(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// What came since this was asked last.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.shared.asked.lock().unwrap())
    }

    pub(crate) fn be_busy(&self, count: usize) {
        self.shared.busy.store(count, Ordering::SeqCst);
    }

    pub(crate) fn tear(&self, count: usize) {
        self.shared.torn.store(count, Ordering::SeqCst);
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn take_one(counter: &AtomicUsize) -> bool {
    counter.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

impl Shared {
    fn serve(&self, connection: TcpStream) -> std::io::Result<()> {
        // Without this the second packet of an answer waits until the first is acknowledged.
        connection.set_nodelay(true)?;
        let mut out = connection.try_clone()?;
        let mut lines = BufReader::new(connection);
        while let Some(request) = read_request(&mut lines)? {
            let response = self.respond(&request);
            let is_torn = request.method == "GET" && response.body.len() > 1 && take_one(&self.torn);
            let mut head = format!("HTTP/1.1 {} x\r\n", response.status);
            for (name, value) in &response.headers {
                let _ = write!(head, "{name}: {value}\r\n");
            }
            let byte_len = response.byte_len.unwrap_or(response.body.len() as u64);
            match response.is_chunked {
                true => head.push_str("Transfer-Encoding: chunked\r\n\r\n"),
                false => drop(write!(head, "Content-Length: {byte_len}\r\n\r\n")),
            }
            let mut body = if request.method == "HEAD" { Vec::new() } else { response.body };
            self.asked.lock().unwrap().push(Asked {
                method: request.method.clone(),
                path: request.path.clone(),
                range: request.header("range").map(str::to_owned),
                login: request.header("authorization").map(str::to_owned),
                status: response.status,
                sent_byte_len: body.len() as u64,
            });
            if is_torn {
                body.truncate(body.len() / 2);
            }
            out.write_all(head.as_bytes())?;
            if response.is_chunked {
                for chunk in body.chunks(1000) {
                    write!(out, "{:x}\r\n", chunk.len())?;
                    out.write_all(chunk)?;
                    out.write_all(b"\r\n")?;
                }
                if !is_torn {
                    out.write_all(b"0\r\n\r\n")?;
                }
            } else {
                out.write_all(&body)?;
            }
            if request.path.ends_with(MANIFEST_FILE) {
                self.manifests_sent.fetch_add(1, Ordering::SeqCst);
            }
            if is_torn {
                return out.shutdown(Shutdown::Both);
            }
        }
        Ok(())
    }

    fn respond(&self, request: &Request) -> Response {
        let manners = &self.manners;
        if take_one(&self.busy) {
            return Response::of(503);
        }
        if let Some(login) = manners.login
            && request.header("authorization") != Some(&format!("Basic {login}"))
        {
            return Response::of(401);
        }
        let path = match (manners.leads, request.path.strip_prefix("/moved/")) {
            (Leads::Nowhere, _) => request.path.clone(),
            (Leads::Moved, Some(path)) => format!("/{path}"),
            (Leads::Moved, None) => {
                return Response::of(302).with("Location", format!("/moved{}", request.path));
            }
            (Leads::Circle, Some(path)) => return Response::of(307).with("Location", format!("/{path}")),
            (Leads::Circle, None) => {
                return Response::of(307).with("Location", format!("/moved{}", request.path));
            }
            (Leads::On, _) => return Response::of(301).with("Location", format!("{}x", request.path)),
            (Leads::To(port), _) => {
                return Response::of(308)
                    .with("Location", format!("http://127.0.0.1:{port}{}", request.path));
            }
        };
        let (path, _) = path.split_once('?').unwrap_or((&path, ""));
        let is_folder = path.ends_with('/');
        let Some(decoded) = path.trim_matches('/').split('/').map(decoded).collect::<Option<Vec<_>>>() else {
            return Response::of(400);
        };
        if decoded.iter().any(|part| part == "..") {
            return Response::of(400);
        }
        let place = decoded.iter().fold(self.root.clone(), |place, part| place.join(part));
        match (place.is_dir(), is_folder) {
            (true, false) => Response::of(301).with("Location", format!("{}/", request.path)),
            (true, true) => {
                while manners.pages_come_last && self.is_first(&request.path) {
                    std::thread::yield_now();
                }
                self.list(&place, path)
            }
            (false, true) => Response::of(match manners.listing {
                Listing::Refused(status) => status,
                _ => 404,
            }),
            (false, false) if !place.is_file() => Response::of(404),
            (false, false) => self.file(&place, request),
        }
    }

    /// Whether a page of a folder would be sent before the manifest that is asked for with it.
    fn is_first(&self, path: &str) -> bool {
        let page_count = self.asked.lock().unwrap().iter().filter(|asked| asked.path == path).count();
        self.manifests_sent.load(Ordering::SeqCst) <= page_count
    }

    fn file(&self, place: &Path, request: &Request) -> Response {
        let manners = &self.manners;
        if request.method == "HEAD" && !manners.heads {
            return Response::of(405);
        }
        let mut file = std::fs::File::open(place).unwrap();
        let total = file.metadata().unwrap().len();
        let etag = format!("\"{:?}\"", file.metadata().unwrap().modified().unwrap()).replace(' ', "");
        let mut response = Response::of(200);
        if manners.etags {
            if request.header("if-none-match") == Some(&etag) {
                return Response::of(304);
            }
            response = response.with("ETag", etag);
        }
        if manners.ranges {
            response = response.with("Accept-Ranges", "bytes");
        }
        let range =
            request.header("range").and_then(|range| range.strip_prefix("bytes=")).filter(|_| manners.ranges);
        let asked = match range.and_then(|range| range.split_once('-')) {
            Some(("", _)) if !manners.suffixes => None,
            Some(("", suffix)) => Some((total.saturating_sub(suffix.parse().unwrap()), total)),
            Some((first, last)) => {
                let last: u64 = last.parse().unwrap();
                Some((first.parse::<u64>().unwrap(), (last + 1).min(total)))
            }
            None => None,
        };
        let (start, end) = asked.unwrap_or((0, total));
        if asked.is_some() && start >= end {
            return Response::of(416).with("Content-Range", format!("bytes */{total}"));
        }
        if asked.is_some() {
            response.status = 206;
            response = response.with("Content-Range", format!("bytes {start}-{}/{total}", end - 1));
        }
        if request.method == "HEAD" {
            response.byte_len = Some(total);
            response.is_chunked = !manners.lengths;
            return response;
        }
        response.is_chunked = !manners.lengths && asked.is_none();
        file.seek(SeekFrom::Start(start)).unwrap();
        file.take(end - start).read_to_end(&mut response.body).unwrap();
        response
    }

    fn list(&self, place: &Path, path: &str) -> Response {
        let mut entries: Vec<(String, u64, bool)> = std::fs::read_dir(place)
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let metadata = entry.metadata().unwrap();
                (entry.file_name().into_string().unwrap(), metadata.len(), metadata.is_dir())
            })
            .collect();
        entries.sort();
        let slash = |is_folder| if is_folder { "/" } else { "" };
        let mut page = String::new();
        let mut kind = "text/html; charset=utf-8";
        match self.manners.listing {
            Listing::Refused(status) => return Response::of(status),
            Listing::Nginx => {
                let _ = write!(
                    page,
                    "<html>\r\n<head><title>Index of {path}</title></head>\r\n<body>\r\n<h1>Index of {path}</h1><hr><pre><a href=\"../\">../</a>\r\n"
                );
                for (name, len, is_folder) in &entries {
                    let _ = write!(
                        page,
                        "<a href=\"{0}{2}\">{1}{2}</a>   24-Nov-2026 10:01   {3}\r\n",
                        encoded(name),
                        escaped(name),
                        slash(*is_folder),
                        len
                    );
                }
                page.push_str("</pre><hr></body>\r\n</html>\r\n");
            }
            Listing::NginxJson => {
                kind = "application/json";
                let rows = entries.iter().map(|(name, len, is_folder)| match is_folder {
                    true => serde_json::json!({"name": name, "type": "directory", "mtime": "Tue, 24 Nov 2026 10:01:00 GMT"}),
                    false => serde_json::json!({"name": name, "type": "file", "mtime": "Tue, 24 Nov 2026 10:01:00 GMT", "size": len}),
                });
                page = serde_json::Value::from_iter(rows).to_string();
            }
            Listing::Apache => {
                let above = path.trim_end_matches('/').rsplit_once('/').map_or("/", |(above, _)| above);
                let _ = write!(
                    page,
                    "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 3.2 Final//EN\">\n<html>\n <head>\n  <title>Index of {path}</title>\n </head>\n <body>\n<h1>Index of {path}</h1>\n  <table>\n   <tr><th valign=\"top\"><img src=\"/icons/blank.gif\" alt=\"[ICO]\"></th><th><a href=\"?C=N;O=D\">Name</a></th><th><a href=\"?C=M;O=A\">Last modified</a></th></tr>\n<tr><td><a href=\"{above}/\">Parent Directory</a></td></tr>\n"
                );
                for (name, len, is_folder) in &entries {
                    let _ = writeln!(
                        page,
                        "<tr><td valign=\"top\"><img src=\"/icons/x.gif\" alt=\"[   ]\"></td><td><a href=\"{0}{2}\">{1}{2}</a></td><td align=\"right\">{3} </td></tr>",
                        encoded(name),
                        escaped(name),
                        slash(*is_folder),
                        len
                    );
                }
                page.push_str(
                    "</table>\n<address>Apache/2.4 Server at 127.0.0.1</address>\n</body></html>\n",
                );
            }
            Listing::Python => {
                let _ = write!(
                    page,
                    "<!DOCTYPE HTML>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<style type=\"text/css\">\n:root {{\ncolor-scheme: light dark;\n}}\n</style>\n<title>Directory listing for {path}</title>\n</head>\n<body>\n<h1>Directory listing for {path}</h1>\n<hr>\n<ul>\n"
                );
                for (name, _, is_folder) in &entries {
                    let _ = writeln!(
                        page,
                        "<li><a href=\"{0}{2}\">{1}{2}</a></li>",
                        encoded(name),
                        escaped(name),
                        slash(*is_folder)
                    );
                }
                page.push_str("</ul>\n<hr>\n</body>\n</html>\n");
            }
        }
        let mut response = Response::of(200).with("Content-Type", kind);
        response.body = page.into_bytes();
        response
    }
}

fn read_request(lines: &mut BufReader<TcpStream>) -> std::io::Result<Option<Request>> {
    let mut line = String::new();
    if lines.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (method, path) =
        (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        lines.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    Ok(Some(Request { method, path, headers }))
}

fn encoded(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        match byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            true => text.push(char::from(byte)),
            false => drop(write!(text, "%{byte:02x}")),
        }
    }
    text
}

fn escaped(name: &str) -> String {
    name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn decoded(part: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), part.as_bytes());
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(first);
        }
    }
    String::from_utf8(bytes).ok()
}
