//! A stub of Google Cloud Storage, in memory: those endpoints of its XML API that clients of `object_store` use, after the public
//! description of the API (<https://cloud.google.com/storage/docs/xml-api/overview>).
//!
//! It knows objects, conditions on generations, ranges, copies, uploads in parts, and listings, which it gives in pages of
//! [`PAGE_LEN`] however many are asked for. It knows no accounts, so all requests are anybody's; no metadata of users, no versions of objects
//! that were replaced, and no limits of rates. An upload is of all parts that came, in the order of their numbers, whatever the request that completes
//! it lists, and parts may be of any size. All objects are of one moment.

use crate::server::Server;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use smalti_object::Settings;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock, Mutex};

/// Objects on a page of a listing: so few that all listings have several.
const PAGE_LEN: usize = 7;

/// When all objects were made.
const MADE: (&str, &str) = ("Thu, 01 Jan 2026 00:00:00 GMT", "2026-01-01T00:00:00.000Z");

#[derive(Default)]
struct Bucket {
    objects: BTreeMap<String, Object>,
    uploads: BTreeMap<String, Upload>,
    generation: u64,
}

#[derive(Clone)]
struct Object {
    bytes: Bytes,
    generation: u64,
}

#[derive(Default)]
struct Upload {
    key: String,
    parts: BTreeMap<u32, Bytes>,
}

type Buckets = Arc<Mutex<BTreeMap<String, Bucket>>>;

/// The stub, in this process.
pub(crate) struct Gcs {
    port: u16,
    buckets: Buckets,
    _runtime: tokio::runtime::Runtime,
}

/// The stub; started once.
pub(crate) fn gcs() -> &'static Gcs {
    static GCS: LazyLock<Gcs> = LazyLock::new(Gcs::start);
    &GCS
}

impl Gcs {
    fn start() -> Gcs {
        let buckets = Buckets::default();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind(("127.0.0.1", 0))).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::clone(&buckets);
        runtime.spawn(async move {
            use hyper_util::rt::TokioIo;
            while let Ok((socket, _)) = listener.accept().await {
                let buckets = Arc::clone(&shared);
                let service =
                    hyper::service::service_fn(move |request| answer(Arc::clone(&buckets), request));
                tokio::spawn(async move {
                    let server = hyper::server::conn::http1::Builder::new();
                    let _ = server.serve_connection(TokioIo::new(socket), service).await;
                });
            }
        });
        Gcs { port, buckets, _runtime: runtime }
    }
}

impl Server for Gcs {
    fn name(&self) -> &'static str {
        "a stub of Google Cloud Storage"
    }

    fn scheme(&self) -> &'static str {
        "gs"
    }

    fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        settings.set("gcs.endpoint", &format!("http://127.0.0.1:{}", self.port)).unwrap();
        settings.set("gcs.anonymous", "true").unwrap();
        settings
    }

    fn make_bucket(&self, name: &str) {
        self.buckets.lock().unwrap().insert(name.to_owned(), Bucket::default());
    }
}

async fn answer(buckets: Buckets, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let Ok(body) = body.collect().await else { return Ok(status(StatusCode::BAD_REQUEST)) };
    let query: BTreeMap<String, String> = head
        .uri
        .query()
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decoded(name), decoded(&value.replace('+', " "))))
        .collect();
    let path = head.uri.path().trim_start_matches('/');
    let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
    let mut buckets = buckets.lock().unwrap();
    let name = decoded(bucket);
    match (&head.method, key.is_empty(), buckets.get(&name)) {
        (&Method::PUT, true, Some(_)) => return Ok(error(StatusCode::CONFLICT, "BucketAlreadyOwnedByYou")),
        (&Method::PUT, true, None) => {
            buckets.insert(name, Bucket::default());
            return Ok(status(StatusCode::OK));
        }
        (&Method::DELETE, true, Some(found)) if !found.objects.is_empty() => {
            return Ok(error(StatusCode::CONFLICT, "BucketNotEmpty"));
        }
        (&Method::DELETE, true, Some(_)) => {
            buckets.remove(&name);
            return Ok(status(StatusCode::NO_CONTENT));
        }
        _ => {}
    }
    let Some(bucket) = buckets.get_mut(&decoded(bucket)) else {
        return Ok(error(StatusCode::NOT_FOUND, "NoSuchBucket"));
    };
    let key = decoded(key);
    Ok(match key.is_empty() {
        true => bucket.list(&query),
        false => bucket.object(&head.method, key, &query, &head.headers, body.to_bytes()),
    })
}

impl Bucket {
    fn object(
        &mut self,
        method: &Method,
        key: String,
        query: &BTreeMap<String, String>,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Response<Full<Bytes>> {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let upload_id = query.get("uploadId");
        match (method.as_str(), upload_id) {
            ("GET" | "HEAD", _) => match self.objects.get(&key) {
                Some(object) => object.read(method == Method::HEAD, header("range")),
                None => error(StatusCode::NOT_FOUND, "NoSuchKey"),
            },
            ("PUT", Some(id)) => {
                let part = query.get("partNumber").and_then(|number| number.parse().ok());
                let (Some(upload), Some(part)) = (self.uploads.get_mut(id), part) else {
                    return error(StatusCode::NOT_FOUND, "NoSuchUpload");
                };
                upload.parts.insert(part, body);
                with_etag(part.into())
            }
            ("POST", Some(id)) => match self.uploads.remove(id) {
                Some(upload) if upload.key == key => {
                    let content = upload.parts.into_values().flatten().collect::<Vec<u8>>();
                    let etag = format!("\"{}\"", self.put(key, content.into()));
                    xml(format!(
                        "<CompleteMultipartUploadResult><ETag>{}</ETag></CompleteMultipartUploadResult>",
                        escaped(&etag)
                    ))
                }
                _ => error(StatusCode::NOT_FOUND, "NoSuchUpload"),
            },
            ("DELETE", Some(id)) => match self.uploads.remove(id) {
                Some(_) => status(StatusCode::NO_CONTENT),
                None => error(StatusCode::NOT_FOUND, "NoSuchUpload"),
            },
            ("POST", None) if query.contains_key("uploads") => {
                self.generation += 1;
                let id = format!("upload-{}", self.generation);
                self.uploads.insert(id.clone(), Upload { key, parts: BTreeMap::new() });
                xml(format!(
                    "<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
                ))
            }
            ("PUT", None) => {
                let here = self.objects.get(&key).map_or(0, |object| object.generation);
                let wanted = header("x-goog-if-generation-match");
                if wanted.is_some_and(|wanted| wanted != here.to_string()) {
                    return error(StatusCode::PRECONDITION_FAILED, "PreconditionFailed");
                }
                let content = match header("x-goog-copy-source") {
                    Some(source) => {
                        let source = decoded(source);
                        let source = source.trim_start_matches('/').split_once('/').map(|(_, key)| key);
                        match source.and_then(|key| self.objects.get(key)) {
                            Some(object) => object.bytes.clone(),
                            None => return error(StatusCode::NOT_FOUND, "NoSuchKey"),
                        }
                    }
                    None => body,
                };
                with_etag(self.put(key, content))
            }
            ("DELETE", None) => match self.objects.remove(&key) {
                Some(_) => status(StatusCode::NO_CONTENT),
                None => error(StatusCode::NOT_FOUND, "NoSuchKey"),
            },
            _ => error(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed"),
        }
    }

    fn put(&mut self, key: String, bytes: Bytes) -> u64 {
        self.generation += 1;
        self.objects.insert(key, Object { bytes, generation: self.generation });
        self.generation
    }

    /// A page of a listing; the token is the last key or prefix of the page before.
    fn list(&self, query: &BTreeMap<String, String>) -> Response<Full<Bytes>> {
        let text = |name: &str| query.get(name).map(String::as_str).unwrap_or_default();
        let (prefix, delimiter) = (text("prefix"), text("delimiter"));
        let after = text("continuation-token").max(text("start-after"));
        let mut rows: BTreeMap<&str, Option<&Object>> = BTreeMap::new();
        for (key, object) in self.objects.iter().filter(|(key, _)| key.starts_with(prefix)) {
            let end = match delimiter {
                "" => None,
                _ => key[prefix.len()..].find(delimiter).map(|at| prefix.len() + at + delimiter.len()),
            };
            match end {
                Some(end) => rows.insert(&key[..end], None),
                None => rows.insert(key, Some(object)),
            };
        }
        let mut rows = rows.into_iter().filter(|(name, _)| *name > after);
        let most = text("max-keys").parse().unwrap_or(PAGE_LEN).min(PAGE_LEN);
        let page: Vec<_> = rows.by_ref().take(most).collect();
        let mut out = String::from("<ListBucketResult>");
        for (name, object) in &page {
            let name = escaped(name);
            let (_, made) = MADE;
            let row = match object {
                Some(Object { bytes, generation }) => write!(
                    out,
                    "<Contents><Key>{name}</Key><Size>{}</Size><LastModified>{made}</LastModified><ETag>&quot;{generation}&quot;</ETag></Contents>",
                    bytes.len()
                ),
                None => write!(out, "<CommonPrefixes><Prefix>{name}</Prefix></CommonPrefixes>"),
            };
            row.unwrap();
        }
        if let (Some(_), Some((last, _))) = (rows.next(), page.last()) {
            write!(out, "<NextContinuationToken>{}</NextContinuationToken>", escaped(last)).unwrap();
        }
        xml(out + "</ListBucketResult>")
    }
}

impl Object {
    fn read(&self, is_head: bool, range: Option<&str>) -> Response<Full<Bytes>> {
        let len = self.bytes.len();
        let answer = Response::builder()
            .header("etag", format!("\"{}\"", self.generation))
            .header("x-goog-generation", self.generation)
            .header("last-modified", MADE.0);
        if is_head {
            return answer.header("content-length", len).body(Full::default()).unwrap();
        }
        let Some(bounds) = range.and_then(|range| range.strip_prefix("bytes=")?.split_once('-')) else {
            return answer.body(Full::new(self.bytes.clone())).unwrap();
        };
        let (start, end) = match (bounds.0.parse::<usize>(), bounds.1.parse::<usize>()) {
            (Ok(start), Ok(last)) => (start, len.min(last.saturating_add(1))),
            (Ok(start), Err(_)) => (start, len),
            (Err(_), Ok(count)) => (len.saturating_sub(count), len),
            (Err(_), Err(_)) => return error(StatusCode::BAD_REQUEST, "InvalidArgument"),
        };
        if start >= end {
            return error(StatusCode::RANGE_NOT_SATISFIABLE, "InvalidRange");
        }
        let content_range = format!("bytes {start}-{}/{len}", end - 1);
        let answer = answer.status(StatusCode::PARTIAL_CONTENT).header("content-range", content_range);
        answer.body(Full::new(self.bytes.slice(start..end))).unwrap()
    }
}

fn status(status: StatusCode) -> Response<Full<Bytes>> {
    Response::builder().status(status).body(Full::default()).unwrap()
}

fn with_etag(etag: u64) -> Response<Full<Bytes>> {
    Response::builder().header("etag", format!("\"{etag}\"")).body(Full::default()).unwrap()
}

fn xml(text: String) -> Response<Full<Bytes>> {
    Response::builder().header("content-type", "application/xml").body(Full::from(text)).unwrap()
}

fn error(status: StatusCode, code: &str) -> Response<Full<Bytes>> {
    let text = format!("<?xml version='1.0' encoding='UTF-8'?><Error><Code>{code}</Code></Error>");
    Response::builder().status(status).body(Full::from(text)).unwrap()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Percent-decodes.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let hex = behind.get(..2).filter(|_| first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
