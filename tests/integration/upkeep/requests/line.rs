//! The line between a client and its server, in one process: each request has a number, and what happens to the request of a number is a fault's to say.

use super::server::Served;
use bytes::Bytes;
use http_body_util::Full;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use hyper::{Method, Request, Response, StatusCode, Uri, header};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect;
use hyper_util::rt::TokioExecutor;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use s3s::Body;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Name and secret of the one who may ask.
pub const KEY: &str = "testing";

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// 503, and nothing is done.
    SlowDown,
    /// 429, and nothing is done.
    TooMany,
    /// 500, although it is done.
    BrokenAfter,
    /// The connection breaks before the request has come.
    ResetBefore,
    /// The connection breaks when it is done.
    ResetAfter,
    /// The connection is closed when it is done, which some take for a request that was not sent.
    ClosedAfter,
    TimeoutBefore,
    TimeoutAfter,
    /// The answer ends in its middle, and the connection with it.
    Truncated,
    /// The answer ends in its middle, and says that this is all.
    Short,
    /// An error with the status 200, and nothing is done.
    ErrorIn200,
    /// A list as it was before the steps of this operation.
    Stale,
    /// A list as it was a step ago.
    StaleByOne,
    /// It comes twice, and the first answer arrives.
    TwiceFirst,
    /// It comes twice, and the second answer arrives.
    TwiceSecond,
}

/// All faults, in an order that never changes.
pub const FAULTS: &[Fault] = &[
    Fault::SlowDown,
    Fault::ResetAfter,
    Fault::TwiceSecond,
    Fault::TooMany,
    Fault::TimeoutAfter,
    Fault::Truncated,
    Fault::ClosedAfter,
    Fault::Stale,
    Fault::TimeoutBefore,
    Fault::ErrorIn200,
    Fault::TwiceFirst,
    Fault::Short,
    Fault::ResetBefore,
    Fault::StaleByOne,
    Fault::BrokenAfter,
];

impl Fault {
    /// Whether it can happen to a request.
    fn fits(self, asked: &Asked) -> bool {
        match self {
            Fault::Stale | Fault::StaleByOne => asked.is_list(),
            Fault::ErrorIn200 => asked.may_fail_late(),
            Fault::Short => asked.method == Method::GET || asked.method == Method::POST,
            _ => true,
        }
    }

    /// Whether a request of which this happens once is sent again, and nobody sees it.
    pub fn is_mended(self) -> bool {
        !matches!(self, Fault::Truncated | Fault::Short | Fault::Stale | Fault::StaleByOne)
    }
}

/// Which request has which fault.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub fault: Fault,
    pub request_idx: usize,
    /// Whether all later ones have it too.
    pub is_lasting: bool,
}

/// What a request was, and whether it had a fault.
#[derive(Clone)]
pub struct Sent {
    pub what: String,
    pub has_fault: bool,
    /// What can happen to it.
    pub can_have: Vec<Fault>,
}

impl std::fmt::Debug for Sent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", if self.has_fault { "! " } else { "" }, self.what)
    }
}

/// The lines to several buckets. Clones are the same.
#[derive(Clone, Default)]
pub struct Lines(Arc<Mutex<BTreeMap<String, Line>>>);

/// Who answers.
#[derive(Clone)]
pub enum Server {
    /// A server in this process.
    Here(Served),
    /// One on a port of this machine.
    At(u16),
}

#[derive(Clone)]
enum Answering {
    Here(S3Service, Served),
    At(u16, Box<legacy::Client<connect::HttpConnector, Full<Bytes>>>),
}

#[derive(Clone)]
struct Line {
    answering: Answering,
    plan: Option<Plan>,
    sent: Arc<Mutex<Vec<Sent>>>,
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lines")
    }
}

impl Lines {
    /// Lays a line to a bucket. What is sent over it can be seen.
    pub fn lay(&self, name: &str, server: &Server, plan: Option<Plan>) -> Arc<Mutex<Vec<Sent>>> {
        let answering = match server {
            Server::Here(served) => {
                let mut service = S3ServiceBuilder::new(served.clone());
                service.set_auth(SimpleAuth::from_single(KEY, KEY));
                Answering::Here(service.build(), served.clone())
            }
            Server::At(port) => {
                let mut connector = connect::HttpConnector::new();
                connector.set_nodelay(true);
                Answering::At(*port, Box::new(legacy::Client::builder(TokioExecutor::new()).build(connector)))
            }
        };
        let sent = Arc::default();
        let line = Line { answering, plan, sent: Arc::clone(&sent) };
        self.0.lock().unwrap().insert(name.to_owned(), line);
        sent
    }

    /// Cuts a line.
    pub fn cut(&self, name: &str) {
        self.0.lock().unwrap().remove(name);
    }
}

impl HttpConnector for Lines {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait::async_trait]
impl HttpService for Lines {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let bucket = request.uri().path().split('/').nth(1).unwrap_or_default().to_owned();
        let line = self.0.lock().unwrap().get(&bucket).cloned();
        let line = line.ok_or_else(|| broken(HttpErrorKind::Connect, "nobody is there"))?;
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let asked = Asked { method: head.method, uri: head.uri, headers: head.headers, body };
        line.answer(&asked).await
    }
}

/// A request, which can be sent several times.
struct Asked {
    method: Method,
    uri: Uri,
    headers: hyper::HeaderMap,
    body: Bytes,
}

impl Asked {
    fn has_query(&self, part: &str) -> bool {
        let query = self.uri.query().unwrap_or_default();
        query.split('&').any(|pair| pair.split('=').next() == Some(part))
    }

    fn is_list(&self) -> bool {
        self.method == Method::GET && self.has_query("list-type")
    }

    /// Whether the answer can be an error although its status is 200.
    fn may_fail_late(&self) -> bool {
        let is_copy = self.method == Method::PUT && self.headers.contains_key("x-amz-copy-source");
        let is_post = self.method == Method::POST && !self.has_query("uploads");
        is_copy || is_post || self.is_list()
    }
}

fn broken(kind: HttpErrorKind, why: &'static str) -> HttpError {
    HttpError::new(kind, std::io::Error::other(why))
}

fn refusal(status: StatusCode, code: &str) -> HttpResponse {
    let text =
        format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>on purpose</Message></Error>");
    let mut answer = Response::new(HttpResponseBody::from(text));
    *answer.status_mut() = status;
    answer
}

impl Line {
    async fn answer(&self, asked: &Asked) -> Result<HttpResponse, HttpError> {
        let fault = {
            let mut sent = self.sent.lock().unwrap();
            let idx = sent.len();
            let is_hit = |plan: &Plan| idx == plan.request_idx || plan.is_lasting && idx > plan.request_idx;
            let fault = self.plan.filter(is_hit).map(|plan| plan.fault).filter(|fault| fault.fits(asked));
            let what =
                format!("{} {}", asked.method, asked.uri.path_and_query().map_or("", |at| at.as_str()));
            let can_have = FAULTS.iter().copied().filter(|fault| fault.fits(asked)).collect();
            sent.push(Sent { what, has_fault: fault.is_some(), can_have });
            fault
        };
        let Some(fault) = fault else { return self.serve(asked).await };
        match fault {
            Fault::SlowDown => Ok(refusal(StatusCode::SERVICE_UNAVAILABLE, "SlowDown")),
            Fault::TooMany => Ok(refusal(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests")),
            Fault::ErrorIn200 => Ok(refusal(StatusCode::OK, "InternalError")),
            Fault::ResetBefore => Err(broken(HttpErrorKind::Interrupted, "connection reset by peer")),
            Fault::TimeoutBefore => Err(broken(HttpErrorKind::Timeout, "operation timed out")),
            Fault::BrokenAfter => {
                self.serve(asked).await?;
                Ok(refusal(StatusCode::INTERNAL_SERVER_ERROR, "InternalError"))
            }
            Fault::ResetAfter => {
                self.serve(asked).await?;
                Err(broken(HttpErrorKind::Interrupted, "connection reset by peer"))
            }
            Fault::ClosedAfter => {
                self.serve(asked).await?;
                Err(broken(HttpErrorKind::Request, "connection closed before message completed"))
            }
            Fault::TimeoutAfter => {
                self.serve(asked).await?;
                Err(broken(HttpErrorKind::Timeout, "operation timed out"))
            }
            Fault::Truncated => self.truncated(asked).await,
            Fault::Short => {
                let (mut head, body) = self.serve(asked).await?.into_parts();
                let body = body.bytes().await?;
                let body = body.slice(..body.len() / 2);
                head.headers.insert(header::CONTENT_LENGTH, body.len().into());
                Ok(Response::from_parts(head, body.into()))
            }
            Fault::Stale | Fault::StaleByOne => {
                let Answering::Here(_, served) = &self.answering else { return self.serve(asked).await };
                let age = if fault == Fault::Stale { usize::MAX } else { 1 };
                served.list_as_of(age);
                let answer = self.serve(asked).await;
                served.list_as_of(0);
                answer
            }
            Fault::TwiceFirst => {
                let first = self.serve(asked).await;
                self.serve(asked).await?;
                first
            }
            Fault::TwiceSecond => {
                self.serve(asked).await?;
                self.serve(asked).await
            }
        }
    }

    /// The answer of the server.
    async fn serve(&self, asked: &Asked) -> Result<HttpResponse, HttpError> {
        match &self.answering {
            Answering::Here(service, _) => serve_here(service, asked).await,
            Answering::At(port, client) => serve_at(*port, client, asked).await,
        }
    }

    async fn truncated(&self, asked: &Asked) -> Result<HttpResponse, HttpError> {
        let (head, body) = self.serve(asked).await?.into_parts();
        let body = body.bytes().await?;
        if body.is_empty() {
            // The head is all there is to be cut.
            return Err(broken(HttpErrorKind::Request, "connection closed before message completed"));
        }
        let half = Frame::data(body.slice(..body.len() / 2));
        let cut = broken(HttpErrorKind::Decode, "error reading a body from connection");
        let frames = futures_util::stream::iter([Ok(half), Err(cut)]);
        Ok(Response::from_parts(head, HttpResponseBody::new(StreamBody::new(frames))))
    }
}

/// The answer of a server on a port.
async fn serve_at(
    port: u16,
    client: &legacy::Client<connect::HttpConnector, Full<Bytes>>,
    asked: &Asked,
) -> Result<HttpResponse, HttpError> {
    let mut request = Request::new(Full::new(asked.body.clone()));
    *request.method_mut() = asked.method.clone();
    *request.headers_mut() = asked.headers.clone();
    let target = asked.uri.path_and_query().unwrap().as_str();
    *request.uri_mut() = format!("http://127.0.0.1:{port}{target}").parse().unwrap();
    let answer = client.request(request).await;
    let (head, body) = answer.map_err(|_| broken(HttpErrorKind::Unknown, "the server failed"))?.into_parts();
    let body = body.collect().await.map_err(|_| broken(HttpErrorKind::Decode, "no body"))?.to_bytes();
    Ok(Response::from_parts(head, body.into()))
}

/// The answer of the server in this process.
async fn serve_here(service: &S3Service, asked: &Asked) -> Result<HttpResponse, HttpError> {
    let mut request = Request::new(Body::from(asked.body.clone()));
    *request.method_mut() = asked.method.clone();
    *request.headers_mut() = asked.headers.clone();
    let host = asked.uri.authority().map_or("", |authority| authority.as_str());
    request.headers_mut().insert(header::HOST, host.parse().unwrap());
    if !request.headers().contains_key(header::CONTENT_LENGTH) {
        request.headers_mut().insert(header::CONTENT_LENGTH, asked.body.len().into());
    }
    *request.uri_mut() = asked.uri.path_and_query().unwrap().as_str().parse().unwrap();
    let answer = service.call(request).await;
    let (head, body) = answer.map_err(|_| broken(HttpErrorKind::Unknown, "the server failed"))?.into_parts();
    let body = body.collect().await.map_err(|_| broken(HttpErrorKind::Decode, "no body"))?.to_bytes();
    Ok(Response::from_parts(head, body.into()))
}
