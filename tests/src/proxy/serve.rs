//! How a proxy answers a request.

use super::body::{AnyBody, Broken, Counted, End, UnderWay};
use super::rule::{Canned, Fault, Seen};
use super::shared::{Shared, lock};
use super::socket::{Reset, Socket};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, LOCATION, RANGE, TRANSFER_ENCODING};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::net::TcpListener;

/// Bytes of white space in each piece of an answer that does not end.
const ENDLESS_PIECE_BYTE_LEN: usize = 64 << 10;

type Answered = io::Result<Response<AnyBody>>;

/// What all connections do.
#[derive(Clone)]
pub(crate) struct Service {
    shared: Arc<Shared>,
    client: Client<HttpConnector, AnyBody>,
}

impl Service {
    pub(crate) fn new(shared: Arc<Shared>) -> Service {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector);
        Service { shared, client }
    }

    pub(crate) async fn accept(self, listener: TcpListener) {
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                // Too many files are open, for instance.
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            let _ = stream.set_nodelay(true);
            let (service, reset) = (self.clone(), Reset::default());
            let socket = Socket::new(stream, reset.clone());
            let answer = service_fn(move |request| {
                let (service, reset) = (service.clone(), reset.clone());
                async move { service.answer(request, reset).await }
            });
            tokio::spawn(async move {
                // The client hears of what fails.
                let _ = hyper::server::conn::http1::Builder::new().serve_connection(socket, answer).await;
            });
        }
    }

    async fn answer(self, request: Request<Incoming>, reset: Reset) -> Answered {
        if let Some(asked) = request.uri().path().strip_prefix("/__proxy/") {
            return Ok(self.control(asked, request.uri().query().unwrap_or_default()));
        }
        let under_way = UnderWay::begin(&self.shared);
        let seen = seen(&request);
        let fault = lock(&self.shared.rules).iter_mut().find_map(|rule| rule.applied(&seen));
        if let Some(log) = &mut *lock(&self.shared.log) {
            let done = fault.as_ref().map(|fault| format!(" {fault:?}")).unwrap_or_default();
            log.push(format!("{} {}?{}{done}", seen.method, seen.path, seen.query));
        }
        let latency = self.shared.latency();
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        let answer = match fault {
            None => self.pass(request).await?,
            Some(fault) => self.broken(fault, &seen, request, reset).await?,
        };
        Ok(answer.map(|body| Counted::answer(body, under_way).boxed_unsync()))
    }

    /// What the proxy itself is asked.
    fn control(&self, asked: &str, query: &str) -> Response<AnyBody> {
        let latency_ms = query.split('&').find_map(|parameter| parameter.strip_prefix("ms=")?.parse().ok());
        match (asked, latency_ms) {
            ("counts", _) => {}
            ("reset", _) => self.shared.counters.reset(),
            ("latency", Some(ms)) => self.shared.set_latency(Duration::from_millis(ms)),
            _ => {
                let mut answer = whole(Bytes::from_static(b"ask for counts, reset, or latency?ms=30\n"));
                *answer.status_mut() = StatusCode::NOT_FOUND;
                return answer;
            }
        }
        let counts = self.shared.counters.now();
        let text = serde_json::json!({
            "requests": counts.requests,
            "rounds": counts.rounds,
            "bytes_in": counts.bytes_in,
            "bytes_out": counts.bytes_out,
        });
        let mut answer = whole(Bytes::from(format!("{text}\n")));
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        answer
    }

    /// The answer of the server.
    async fn pass(&self, request: Request<Incoming>) -> Answered {
        let shared = Arc::clone(&self.shared);
        let request = request.map(|body| Counted::request(body, &shared).boxed_unsync());
        self.send(request).await
    }

    async fn send(&self, mut request: Request<AnyBody>) -> Answered {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let uri: Uri = format!("http://{}{path}", self.shared.to).parse().map_err(io::Error::other)?;
        *request.uri_mut() = uri;
        let answer = self.client.request(request).await.map_err(io::Error::other)?;
        Ok(answer.map(|body| body.map_err(io::Error::other).boxed_unsync()))
    }

    /// The answer of the server, in whole.
    async fn passed(&self, request: Request<Incoming>) -> io::Result<Response<Bytes>> {
        collected(self.pass(request).await?).await
    }

    async fn broken(&self, fault: Fault, seen: &Seen, request: Request<Incoming>, reset: Reset) -> Answered {
        match fault {
            Fault::Delay(time) => {
                tokio::time::sleep(time).await;
                self.pass(request).await
            }
            Fault::Silence { reaches } => {
                if reaches {
                    self.passed(request).await?;
                }
                std::future::pending().await
            }
            Fault::Reset => {
                reset.ask();
                Err(io::Error::other("reset on purpose"))
            }
            Fault::LostAnswer => {
                self.passed(request).await?;
                reset.ask();
                Err(io::Error::other("lost on purpose"))
            }
            Fault::ResetAfter(byte_len) => self.cut(request, byte_len, End::Reset(reset)).await,
            Fault::CloseAfter(byte_len) => self.cut(request, byte_len, End::Close).await,
            Fault::Truncate(byte_len) => {
                let (mut head, mut body) = self.passed(request).await?.into_parts();
                body.truncate(byte_len);
                set_length(&mut head.headers, body.len() as u64);
                Ok(Response::from_parts(head, full(body)))
            }
            Fault::TooLong(more) => {
                let (mut head, body) = self.passed(request).await?.into_parts();
                set_length(&mut head.headers, (body.len() as u64).saturating_add(more));
                Ok(Response::from_parts(head, Broken::new(body, End::Close).boxed_unsync()))
            }
            Fault::Twice => {
                let (head, body) = request.into_parts();
                let body = Counted::request(body, &self.shared).collect().await?.to_bytes();
                let copy = || Request::from_parts(head.clone(), full(body.clone()));
                collected(self.send(copy()).await?).await?;
                self.send(copy()).await
            }
            Fault::Answer { reaches, with } => {
                if reaches {
                    self.passed(request).await?;
                } else {
                    request.into_body().collect().await.map_err(io::Error::other)?;
                }
                canned(with)
            }
            Fault::Remember => {
                let (head, body) = self.passed(request).await?.into_parts();
                let headers = head.headers.iter().filter(|(name, _)| *name != CONTENT_LENGTH);
                let headers = headers
                    .map(|(name, value)| (name.to_string(), value.to_str().unwrap_or_default().to_owned()));
                let answer =
                    Canned { status: head.status.as_u16(), headers: headers.collect(), body: body.clone() };
                lock(&self.shared.remembered).insert(key(seen), answer);
                Ok(Response::from_parts(head, full(body)))
            }
            Fault::Stale => {
                let remembered = lock(&self.shared.remembered).get(&key(seen)).cloned();
                match remembered {
                    Some(remembered) => canned(remembered),
                    None => self.pass(request).await,
                }
            }
            Fault::Endless { same_token } => self.endless(same_token, seen, request).await,
            Fault::EndlessBody => {
                let body = Bytes::from(vec![b' '; ENDLESS_PIECE_BYTE_LEN]);
                Ok(Response::new(Broken::new(body, End::Again).boxed_unsync()))
            }
            Fault::Redirect(status) => {
                let host = request.headers().get("host").and_then(|host| host.to_str().ok());
                let location = format!("http://{}{}", host.unwrap_or_default(), request.uri());
                let with = Canned { status, headers: Vec::new(), body: Bytes::new() };
                canned(with.header(LOCATION.as_str(), &location))
            }
            Fault::Edit(from, to) => {
                let (mut head, body) = self.passed(request).await?.into_parts();
                let text = String::from_utf8_lossy(&body).replace(from, to);
                set_length(&mut head.headers, text.len() as u64);
                Ok(Response::from_parts(head, full(Bytes::from(text))))
            }
        }
    }

    async fn cut(&self, request: Request<Incoming>, byte_len: usize, end: End) -> Answered {
        let (mut head, mut body) = self.passed(request).await?.into_parts();
        set_length(&mut head.headers, body.len() as u64);
        if head.headers.get(CONTENT_LENGTH).is_some_and(|length| length == "0") {
            // Nothing of the answer is missing otherwise.
            set_length(&mut head.headers, 1);
        }
        body.truncate(byte_len);
        Ok(Response::from_parts(head, Broken::new(body, end).boxed_unsync()))
    }

    /// The first page, and the same again and again.
    async fn endless(&self, same_token: bool, seen: &Seen, request: Request<Incoming>) -> Answered {
        let is_next = seen.query.contains("continuation-token=") || seen.query.contains("marker=");
        let page = key(&Seen { query: "endless".to_owned(), ..seen.clone() });
        let remembered = lock(&self.shared.remembered).get(&page).cloned().filter(|_| is_next);
        let text = match remembered {
            Some(remembered) => remembered.body,
            None => self.passed(request).await?.into_body(),
        };
        lock(&self.shared.remembered)
            .insert(page, Canned { status: 200, headers: Vec::new(), body: text.clone() });
        let number = if same_token { 0 } else { self.shared.counters.requests.load(Relaxed) };
        let more = format!(
            "<IsTruncated>true</IsTruncated><NextContinuationToken>token-{number}</NextContinuationToken>"
        );
        let text = String::from_utf8_lossy(&text);
        let text = text.replace("<IsTruncated>false</IsTruncated>", "");
        canned(Canned::xml(200, text.replace("</ListBucketResult>", &format!("{more}</ListBucketResult>"))))
    }
}

fn seen(request: &Request<Incoming>) -> Seen {
    let headers = request.headers();
    Seen {
        method: request.method().to_string(),
        path: request.uri().path().to_owned(),
        query: request.uri().query().unwrap_or_default().to_owned(),
        copies: ["x-amz-copy-source", "x-goog-copy-source", "x-ms-copy-source"]
            .iter()
            .any(|&name| headers.contains_key(name)),
        is_ranged: headers.contains_key(RANGE) || headers.contains_key("x-ms-range"),
    }
}

fn key(seen: &Seen) -> String {
    format!("{} {}?{}", seen.method, seen.path, seen.query)
}

fn full(body: Bytes) -> AnyBody {
    Full::new(body).map_err(|never| match never {}).boxed_unsync()
}

fn whole(body: Bytes) -> Response<AnyBody> {
    Response::new(full(body))
}

fn canned(answer: Canned) -> Answered {
    let mut response = Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        response = response.header(name, value);
    }
    let body = if answer.body.is_empty() {
        Empty::new().map_err(|never| match never {}).boxed_unsync()
    } else {
        full(answer.body)
    };
    response.body(body).map_err(io::Error::other)
}

async fn collected(answer: Response<AnyBody>) -> io::Result<Response<Bytes>> {
    let (head, body) = answer.into_parts();
    // The client of the proxy hears of an answer that breaks off as of a reset.
    Ok(Response::from_parts(head, body.collect().await?.to_bytes()))
}

fn set_length(headers: &mut hyper::HeaderMap, byte_len: u64) {
    headers.remove(TRANSFER_ENCODING);
    headers.insert(CONTENT_LENGTH, HeaderValue::from(byte_len));
}
