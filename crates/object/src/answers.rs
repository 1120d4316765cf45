//! Between the clients of stores and the network: answers that are none are found here, before anybody believes them, and what can be asked again is
//! reported so that it is.
//!
//! - An error in an answer whose status is 200, as S3 sends them for copies, completed uploads and deletions, is an error.
//! - Bytes that are not as many as the head of an answer says, and listings that stop in the middle, have been interrupted.
//! - Parts of batches that answer what was not asked, and batches that answer less than was asked, are broken.
//! - No answer that is collected takes more memory than was asked for or is [allowed](within): listings that do not end are refused.
//! - Redirects are followed nowhere: what is signed for one host is worth nothing at another. They are reported with where they lead.

use crate::batch;
use crate::proxy::Shown;
use futures_util::StreamExt as _;
use object_store::client::{
    HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use reqwest::header::{CONTENT_RANGE, CONTENT_TYPE, HeaderMap, HeaderName, LOCATION, RANGE};
use reqwest::{Method, StatusCode};
use std::cell::RefCell;
use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

/// The longest answer of a change that is looked into: a thousand deleted objects are named in less.
const MAX_CHANGE_BYTE_LEN: u64 = 8 << 20;

/// What is read of the body of an error.
const MAX_ERROR_BYTE_LEN: u64 = 64 << 10;

/// The longest page of a listing.
const MAX_PAGE_BYTE_LEN: u64 = 64 << 20;

/// What a page of a listing counts at least, so that short ones without end have an end too.
const MIN_PAGE_BYTE_LEN: u64 = 16 << 10;

/// The element that is put behind the body of an error, with whoever sent it.
pub(crate) const ANSWERED_BY: &str = "AnsweredBy";

const BUCKET_REGION: HeaderName = HeaderName::from_static("x-amz-bucket-region");

tokio::task_local! {
    static LISTING: RefCell<Listing>;
}

/// What a listing has taken.
struct Listing {
    page_count: u64,
    byte_len: u64,
    max_byte_len: u64,
    /// The token of the last page.
    token: Option<String>,
}

/// Lists, and gives up where the pages together have more bytes than this.
pub(crate) async fn within<T>(max_byte_len: u64, listing: impl Future<Output = T>) -> T {
    let began = Listing { page_count: 0, byte_len: 0, max_byte_len, token: None };
    LISTING.scope(RefCell::new(began), listing).await
}

/// What is wrong with an answer, or came in its place.
#[derive(Debug)]
pub(crate) struct Refused {
    /// Whoever was asked: host and port.
    pub(crate) host: String,
    pub(crate) why: Why,
}

/// Why an answer is none.
#[derive(Debug)]
pub(crate) enum Why {
    /// It did not come.
    Unanswered {
        /// The proxy that was asked, without its password, and who set it.
        proxy: Option<String>,
        source: HttpError,
    },
    /// Somebody else is to be asked.
    Redirected {
        status: u16,
        /// Scheme and host.
        to: Option<String>,
        /// Where the bucket is, if S3 says so.
        region: Option<String>,
    },
    /// It is not what stores say.
    NoStore { status: u16 },
    /// There is always more.
    Endless { page_count: u64, byte_len: u64 },
    /// It is not as long as it says, or stops in the middle.
    Broken(String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Why::Unanswered { source, .. } => write!(f, "{source}"),
            Why::Redirected { status, region, .. } => {
                write!(f, "redirect with status code: {status}")?;
                region
                    .as_ref()
                    .map_or(Ok(()), |region| write!(f, ", the bucket is in <Region>{region}</Region>"))
            }
            Why::NoStore { .. } => f.write_str("this is no answer of a store"),
            Why::Endless { .. } => f.write_str("the listing does not end"),
            Why::Broken(problem) => f.write_str(problem),
        }
    }
}

impl StdError for Refused {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.why {
            Why::Unanswered { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// A client whose answers can be believed.
#[derive(Debug)]
pub(crate) struct Answers {
    client: HttpClient,
    proxies: Shown,
}

/// What a request asks for.
struct Asked {
    host: String,
    is_secure: bool,
    is_list: bool,
    /// The token of the page that is asked for.
    token: Option<String>,
    /// Bytes of a part of an object.
    byte_len: Option<u64>,
    /// Changes something, and says in the body of the answer what came of it.
    tells_in_body: bool,
    /// Of how many requests it is a batch, if it is one.
    request_count: Option<usize>,
    /// Comes to the same when it is done twice.
    deletes: bool,
}

impl Answers {
    /// Over a client; with its proxies, for messages.
    pub(crate) fn new(client: HttpClient, proxies: Shown) -> Answers {
        Answers { client, proxies }
    }

    async fn answer(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let asked = Asked::by(&request);
        let answer = match self.client.execute(request).await {
            Ok(answer) => answer,
            Err(failed) => return Err(self.unanswered(failed, asked)),
        };
        let status = answer.status();
        if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
            return Err(asked.redirected(status, answer.headers()));
        }
        if !status.is_success() {
            return self.failed(answer, asked).await;
        }
        if asked.is_list {
            return self.page(answer, asked).await;
        }
        if asked.tells_in_body {
            return self.told(answer, asked).await;
        }
        match asked.byte_len {
            Some(byte_len) if status == StatusCode::PARTIAL_CONTENT => {
                self.part(answer, byte_len, asked).await
            }
            _ => Ok(answer),
        }
    }

    fn unanswered(&self, source: HttpError, asked: Asked) -> HttpError {
        let kind = match source.kind() {
            // Asking again does not change who answers.
            HttpErrorKind::Connect if is_of_certificates(&source) => HttpErrorKind::Decode,
            HttpErrorKind::Interrupted | HttpErrorKind::Timeout if asked.deletes => HttpErrorKind::Request,
            kind => kind,
        };
        let proxy = if asked.is_secure { self.proxies.https.clone() } else { self.proxies.http.clone() };
        asked.refused(kind, Why::Unanswered { proxy, source })
    }

    /// An answer that says what went wrong.
    async fn failed(&self, answer: HttpResponse, asked: Asked) -> Result<HttpResponse, HttpError> {
        let (head, body) = answer.into_parts();
        // The status tells without it.
        let mut body =
            collected(body, MAX_ERROR_BYTE_LEN).await.map_or_else(|_| Vec::new(), |body| body.bytes);
        body.truncate(usize::try_from(MAX_ERROR_BYTE_LEN).unwrap_or(usize::MAX));
        let text = String::from_utf8_lossy(&body);
        // Every store says in a listing's body why there is none.
        let is_unknown = matches!(head.status.as_u16(), 400 | 404 | 405 | 410 | 501);
        if asked.is_list && is_unknown && !text.contains("<Code>") {
            let why = Why::NoStore { status: head.status.as_u16() };
            return Err(asked.refused(HttpErrorKind::Decode, why));
        }
        Ok(HttpResponse::from_parts(head, asked.answered(&text)))
    }

    /// A page of a listing.
    async fn page(&self, answer: HttpResponse, asked: Asked) -> Result<HttpResponse, HttpError> {
        let (head, body) = answer.into_parts();
        let room = LISTING.try_with(|listing| listing.borrow().room()).unwrap_or(MAX_PAGE_BYTE_LEN);
        let body = match collected(body, room.min(MAX_PAGE_BYTE_LEN)).await {
            Ok(body) => body,
            Err(failed) => return Err(self.unanswered(failed, asked)),
        };
        if !body.is_whole {
            let began = Why::Endless { page_count: 1, byte_len: MAX_PAGE_BYTE_LEN };
            let endless = LISTING.try_with(|listing| {
                listing.borrow_mut().add(body.bytes.len() as u64, asked.token.clone(), false).err()
            });
            return Err(asked.refused(HttpErrorKind::Decode, endless.ok().flatten().unwrap_or(began)));
        }
        let text = String::from_utf8_lossy(&body.bytes);
        let names = ["ListBucketResult", "EnumerationResults"];
        let root = root(&text);
        // Of a page that was cut the beginning is right.
        let is_begun = root.map_or_else(
            || text.trim_start().starts_with('<'),
            |root| names.iter().any(|name| name.starts_with(root)),
        );
        if let Some(error) = error_in(&text) {
            return Ok(as_failure(HttpResponse::from_parts(head, asked.answered(error)), error));
        }
        match names.iter().find(|name| root.is_some_and(|root| root.starts_with(**name))) {
            None if !is_begun => {
                let why = Why::NoStore { status: head.status.as_u16() };
                Err(asked.refused(HttpErrorKind::Decode, why))
            }
            name if !name.is_some_and(|name| is_closed(&text, name)) => {
                let why = Why::Broken("the listing stops in the middle".to_owned());
                Err(asked.refused(HttpErrorKind::Interrupted, why))
            }
            _ => {
                // One that is asked for again because it was broken is not the same page again.
                let counted = LISTING.try_with(|listing| {
                    listing.borrow_mut().add(body.bytes.len() as u64, asked.token.clone(), true)
                });
                match counted {
                    Ok(Err(endless)) => Err(asked.refused(HttpErrorKind::Decode, endless)),
                    _ => Ok(HttpResponse::from_parts(head, body.bytes.into())),
                }
            }
        }
    }

    /// An answer to a change.
    async fn told(&self, answer: HttpResponse, asked: Asked) -> Result<HttpResponse, HttpError> {
        let (head, body) = answer.into_parts();
        let body = match collected(body, MAX_CHANGE_BYTE_LEN).await {
            Ok(body) => body,
            Err(failed) => return Err(self.unanswered(failed, asked)),
        };
        if !body.is_whole {
            let why = Why::Broken(format!("the answer has more than {MAX_CHANGE_BYTE_LEN} bytes"));
            return Err(asked.refused(HttpErrorKind::Decode, why));
        }
        if let Some(request_count) = asked.request_count
            && let Some(problem) = batch::problem(&body.bytes, request_count)
        {
            return Err(asked.refused(HttpErrorKind::Decode, Why::Broken(problem.to_owned())));
        }
        // Of a batch each part has a status of its own, which the crate reads.
        if head.headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"multipart/")) {
            return Ok(HttpResponse::from_parts(head, body.bytes.into()));
        }
        let text = String::from_utf8_lossy(&body.bytes);
        match error_in(&text) {
            Some(error) => {
                let answer = HttpResponse::from_parts(head, asked.answered(error));
                Ok(as_failure(answer, error))
            }
            // The crate takes these words for errors, wherever they are: in the names of objects too, which nobody reads here.
            None if ["InternalError", "SlowDown"].iter().any(|word| text.contains(word)) => {
                let text = text.replace("InternalError", "name").replace("SlowDown", "name");
                Ok(HttpResponse::from_parts(head, text.into()))
            }
            None => Ok(HttpResponse::from_parts(head, body.bytes.into())),
        }
    }

    /// A part of an object, of at most so many bytes.
    async fn part(
        &self,
        answer: HttpResponse,
        asked_byte_len: u64,
        asked: Asked,
    ) -> Result<HttpResponse, HttpError> {
        let (head, body) = answer.into_parts();
        let Some(told_byte_len) =
            head.headers.get(CONTENT_RANGE).and_then(|range| byte_len_of(range.to_str().ok()?))
        else {
            let why = Why::Broken("the answer does not say which bytes it has".to_owned());
            return Err(asked.refused(HttpErrorKind::Decode, why));
        };
        let body = match collected(body, told_byte_len.min(asked_byte_len)).await {
            Ok(body) => body,
            Err(failed) => return Err(self.unanswered(failed, asked)),
        };
        if !body.is_whole || body.bytes.len() as u64 != told_byte_len {
            let more = if body.is_whole { "" } else { " or more" };
            let problem = format!("{}{more} bytes came instead of {told_byte_len}", body.bytes.len());
            return Err(asked.refused(HttpErrorKind::Interrupted, Why::Broken(problem)));
        }
        Ok(HttpResponse::from_parts(head, body.bytes.into()))
    }
}

impl HttpService for Answers {
    fn call<'s, 'a>(
        &'s self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'a>>
    where
        's: 'a,
        Self: 'a,
    {
        Box::pin(self.answer(request))
    }
}

impl Asked {
    fn by(request: &HttpRequest) -> Asked {
        let query = request.uri().query().unwrap_or_default();
        let parameter = |name: &str| {
            query.split('&').find_map(|one| one.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned)
        };
        let (method, headers) = (request.method(), request.headers());
        let is_list = method == Method::GET
            && (parameter("list-type").as_deref() == Some("2")
                || parameter("comp").as_deref() == Some("list"));
        let is_batch = method == Method::POST && parameter("comp").as_deref() == Some("batch");
        let is_bulk_delete = is_batch
            || method == Method::POST && query.split('&').any(|one| matches!(one, "delete" | "delete="));
        let copies = ["x-amz-copy-source", "x-goog-copy-source", "x-ms-copy-source"];
        Asked {
            host: request.uri().authority().map(|host| without_login(host.as_str())).unwrap_or_default(),
            is_secure: request.uri().scheme_str() == Some("https"),
            is_list,
            token: parameter("continuation-token").or_else(|| parameter("marker")).filter(|_| is_list),
            byte_len: headers.get(RANGE).and_then(|range| asked_byte_len(range.to_str().ok()?)),
            tells_in_body: method == Method::POST || copies.iter().any(|&name| headers.contains_key(name)),
            request_count: is_batch
                .then(|| request.body().as_bytes().map_or(0, |body| batch::request_count(body))),
            deletes: is_bulk_delete || method == Method::DELETE,
        }
    }

    /// What went wrong, and who said so: the crate does not tell where addresses have secrets.
    fn answered(&self, error: &str) -> HttpResponseBody {
        format!("{error}\n<{ANSWERED_BY}>{}</{ANSWERED_BY}>", self.host).into()
    }

    fn refused(self, kind: HttpErrorKind, why: Why) -> HttpError {
        HttpError::new(kind, Refused { host: self.host, why })
    }

    fn redirected(self, status: StatusCode, headers: &HeaderMap) -> HttpError {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(short);
        let to = text(LOCATION).and_then(|to| {
            let (scheme, rest) = to.split_once("://")?;
            let host = rest.split(['/', '?', '#']).next()?;
            Some(format!("{scheme}://{}", without_login(host)))
        });
        let why = Why::Redirected { status: status.as_u16(), to, region: text(BUCKET_REGION) };
        self.refused(HttpErrorKind::Decode, why)
    }
}

impl Listing {
    fn room(&self) -> u64 {
        self.max_byte_len.saturating_sub(self.byte_len)
    }

    /// Counts a page.
    fn add(&mut self, byte_len: u64, token: Option<String>, is_whole: bool) -> Result<(), Why> {
        self.page_count += 1;
        self.byte_len = self.byte_len.saturating_add(byte_len.max(MIN_PAGE_BYTE_LEN));
        let is_again = token.is_some() && self.token == token;
        self.token = token;
        if is_again || !is_whole || self.byte_len > self.max_byte_len {
            return Err(Why::Endless { page_count: self.page_count, byte_len: self.byte_len });
        }
        Ok(())
    }
}

/// The beginning of a body.
struct Collected {
    bytes: Vec<u8>,
    /// Whether there is no more.
    is_whole: bool,
}

/// A body, or as much of it as may be. No length that somebody said is believed.
async fn collected(body: HttpResponseBody, max_byte_len: u64) -> Result<Collected, HttpError> {
    let mut bytes = Vec::new();
    let mut pieces = body.bytes_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece?;
        if (bytes.len() as u64).saturating_add(piece.len() as u64) > max_byte_len {
            return Ok(Collected { bytes, is_whole: false });
        }
        bytes.try_reserve(piece.len()).map_err(|failed| HttpError::new(HttpErrorKind::Decode, failed))?;
        bytes.extend_from_slice(&piece);
    }
    Ok(Collected { bytes, is_whole: true })
}

/// The name of the first element of XML, and what follows it.
fn root(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        let (_, behind) = rest.split_once('<')?;
        if !behind.starts_with(['?', '!']) {
            return Some(behind);
        }
        rest = behind;
    }
}

/// Whether an element is closed, or empty.
fn is_closed(text: &str, name: &str) -> bool {
    let text = text.trim_end();
    text.ends_with(&format!("</{name}>"))
        || (text.ends_with("/>") && root(text).is_some_and(|root| root.find('>') == Some(root.len() - 1)))
}

/// The error in an answer that claims success: all of it, or one of a list of deleted objects.
fn error_in(text: &str) -> Option<&str> {
    let root = root(text)?;
    let is_error = root.starts_with("Error>") || root.starts_with("Error ");
    if is_error {
        return Some(text);
    }
    if !root.starts_with("DeleteResult") {
        return None;
    }
    let start = text.find("<Error>")?;
    let rest = text.get(start..)?;
    let end = rest.find("</Error>").map_or(rest.len(), |end| end + "</Error>".len());
    rest.get(..end)
}

/// The answer with the status that it should have had.
fn as_failure(mut answer: HttpResponse, error: &str) -> HttpResponse {
    let code = error.split("<Code>").nth(1).and_then(|rest| rest.split("</Code>").next());
    *answer.status_mut() = match code.unwrap_or_default() {
        "AccessDenied" | "RequestTimeTooSkewed" | "SignatureDoesNotMatch" | "InvalidAccessKeyId" => {
            StatusCode::FORBIDDEN
        }
        "NoSuchKey" | "NoSuchUpload" | "NoSuchBucket" => StatusCode::NOT_FOUND,
        "PreconditionFailed" => StatusCode::PRECONDITION_FAILED,
        "ConditionalRequestConflict" | "OperationAborted" => StatusCode::CONFLICT,
        "InternalError" => StatusCode::INTERNAL_SERVER_ERROR,
        "SlowDown" | "ServiceUnavailable" => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::BAD_REQUEST,
    };
    answer
}

/// The bytes that `bytes=2-5` or `bytes=-4` asks for.
fn asked_byte_len(range: &str) -> Option<u64> {
    let (start, end) = range.trim().strip_prefix("bytes=")?.split_once('-')?;
    let end: u64 = end.parse().ok()?;
    match start {
        "" => Some(end),
        start => end.checked_sub(start.parse().ok()?)?.checked_add(1),
    }
}

/// The bytes that `bytes 2-5/12` has.
fn byte_len_of(range: &str) -> Option<u64> {
    let (range, _) = range.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (start, end) = range.split_once('-')?;
    let end = end.parse::<u64>().ok()?.checked_add(1)?;
    end.checked_sub(start.parse().ok()?)
}

/// Whether a connection failed because of who is at its other end.
fn is_of_certificates(error: &HttpError) -> bool {
    let mut last: &(dyn StdError + 'static) = error;
    loop {
        if last.to_string().contains("invalid peer certificate") {
            return true;
        }
        match last.source() {
            Some(source) => last = source,
            None => return false,
        }
    }
}

fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

fn without_login(host: &str) -> String {
    short(host.rsplit('@').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_ranges_are_those_that_were_said_or_none() {
        for (range, byte_len) in [
            ("bytes=2-5", Some(4)),
            ("bytes=-4", Some(4)),
            ("bytes=5-2", None),
            ("bytes=5-", None),
            ("bytes=0-18446744073709551615", None),
            ("lines=2-5", None),
        ] {
            assert_eq!(asked_byte_len(range), byte_len, "{range}");
        }
        for (range, byte_len) in [
            ("bytes 2-5/12", Some(4)),
            ("bytes 2-5/*", Some(4)),
            ("bytes 5-2/12", None),
            ("bytes */12", None),
            ("bytes 0-18446744073709551615/12", None),
            ("", None),
        ] {
            assert_eq!(byte_len_of(range), byte_len, "{range}");
        }
    }

    #[test]
    fn errors_are_found_in_answers_that_claim_success() {
        for (text, error) in [
            ("<?xml version=\"1.0\"?>\n<Error><Code>X</Code></Error>", true),
            ("<Error xmlns=\"a\"><Code>X</Code></Error>", true),
            ("<DeleteResult><Deleted/><Error><Code>X</Code></Error><Deleted/></DeleteResult>", true),
            ("<DeleteResult><Error><Code>X", true),
            ("<DeleteResult><Deleted><Key>Error</Key></Deleted></DeleteResult>", false),
            ("<CopyObjectResult><ETag>Error</ETag></CopyObjectResult>", false),
            ("<Errors></Errors>", false),
            ("<", false),
            ("<?xml", false),
            ("", false),
        ] {
            assert_eq!(error_in(text).is_some(), error, "{text}");
        }
        let one = error_in("<DeleteResult><Error><Code>X</Code></Error><Deleted/></DeleteResult>");
        assert_eq!(one, Some("<Error><Code>X</Code></Error>"));
    }

    #[test]
    fn of_a_listing_every_piece_but_the_whole_is_open() {
        let name = "ListBucketResult";
        let text = "<?xml version=\"1.0\"?><ListBucketResult><Name>b</Name></ListBucketResult>\n";
        for end in 0..text.trim_end().len() {
            assert!(!is_closed(text.get(..end).unwrap(), name), "{end}");
        }
        assert!(is_closed(text, name));
        assert!(is_closed("<EnumerationResults a=\"b\"/>", "EnumerationResults"));
    }

    #[test]
    fn a_listing_is_over_when_its_bytes_are_or_a_page_comes_again() {
        let mut listing = Listing { page_count: 0, byte_len: 0, max_byte_len: 64 << 10, token: None };
        assert!(listing.add(100, None, true).is_ok());
        assert!(listing.add(100, Some("a".to_owned()), true).is_ok());
        assert!(listing.add(20 << 10, Some("b".to_owned()), true).is_ok());
        assert!(listing.add(20 << 10, Some("c".to_owned()), true).is_err(), "72 KiB in all");
        let mut listing = Listing { page_count: 0, byte_len: 0, max_byte_len: 1 << 30, token: None };
        assert!(listing.add(100, Some("a".to_owned()), true).is_ok());
        assert!(listing.add(100, Some("a".to_owned()), true).is_err(), "the same page");
        let mut listing = Listing { page_count: 0, byte_len: 0, max_byte_len: 1 << 30, token: None };
        assert!(listing.add(100, None, false).is_err(), "more than there is room for");
    }

    #[test]
    fn hosts_are_shown_without_logins_and_control_characters() {
        assert_eq!(without_login("me:hush@host:80"), "host:80");
        assert_eq!(without_login("host\n"), "host");
    }
}
