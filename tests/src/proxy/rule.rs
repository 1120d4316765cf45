//! What a proxy does to single requests.

use bytes::Bytes;
use std::fmt;
use std::time::Duration;

/// A request as a rule sees it.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Its method: `GET`.
    pub method: String,
    /// Its path, as it was sent.
    pub path: String,
    /// Its query, as it was sent; empty without one.
    pub query: String,
    /// Whether it copies an object.
    pub copies: bool,
    /// Whether it asks for a part of an object.
    pub is_ranged: bool,
}

impl Seen {
    /// Whether it asks for what is in a folder: of S3, Google's store and Azure.
    pub fn lists(&self) -> bool {
        self.method == "GET"
            && self.parameters().any(|parameter| matches!(parameter, "list-type=2" | "comp=list"))
    }

    /// Whether it reads an object.
    pub fn reads(&self) -> bool {
        self.method == "GET" && !self.lists()
    }

    /// Whether it puts an object whole.
    pub fn puts(&self) -> bool {
        self.method == "PUT" && !self.copies && !self.query.contains("uploadId=")
    }

    /// Whether it puts a part of an upload.
    pub fn puts_part(&self) -> bool {
        self.method == "PUT" && self.query.contains("uploadId=")
    }

    /// Whether it completes an upload.
    pub fn completes(&self) -> bool {
        self.method == "POST" && self.query.contains("uploadId=")
    }

    /// Whether it deletes several objects at once.
    pub fn deletes(&self) -> bool {
        self.method == "DELETE" || (self.method == "POST" && self.parameters().any(|one| one == "delete"))
    }

    fn parameters(&self) -> impl Iterator<Item = &str> {
        self.query.split('&').map(|parameter| parameter.trim_end_matches('='))
    }
}

/// An answer that is given instead of the server's.
#[derive(Debug, Clone)]
pub struct Canned {
    /// The status.
    pub status: u16,
    /// The headers, but for the length.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl Canned {
    /// An answer of XML.
    pub fn xml(status: u16, body: impl Into<String>) -> Canned {
        let headers = vec![("content-type".to_owned(), "application/xml".to_owned())];
        Canned { status, headers, body: Bytes::from(body.into()) }
    }

    /// An error as S3 and Google's store write it.
    pub fn error(status: u16, code: &str) -> Canned {
        Canned::xml(
            status,
            format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{code}</Code><Message>what the proxy says</Message></Error>"
            ),
        )
    }

    /// The same answer with another header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Canned {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// What is done to a request.
#[derive(Debug, Clone)]
pub enum Fault {
    /// It is passed on after so long.
    Delay(Duration),
    /// No answer comes.
    Silence {
        /// Whether it is passed on.
        reaches: bool,
    },
    /// The connection is reset, and nothing is passed on.
    Reset,
    /// It is passed on; the connection is reset in the place of an answer.
    LostAnswer,
    /// It is passed on, and the connection is reset behind so many bytes of the body of the answer.
    ResetAfter(usize),
    /// It is passed on; the connection is closed behind so many bytes of the body of the answer, whose head says all of them.
    CloseAfter(usize),
    /// It is passed on; so many bytes of the body of the answer are sent, and the head says that these are all.
    Truncate(usize),
    /// It is passed on; the head of the answer says so many bytes more than there are, and the connection is closed behind them.
    TooLong(u64),
    /// It is passed on twice, and the second answer is given.
    Twice,
    /// An answer of the proxy's.
    Answer {
        /// Whether it is passed on.
        reaches: bool,
        /// What is answered.
        with: Canned,
    },
    /// It is passed on, and the answer is remembered for [`Stale`](Fault::Stale).
    Remember,
    /// What was remembered of the same request is answered; it is passed on where nothing was.
    Stale,
    /// An answer to a listing that says there is more, and a token, for ever.
    Endless {
        /// Whether the token is always the same.
        same_token: bool,
    },
    /// An answer of white space that does not end.
    EndlessBody,
    /// A redirect to the same address.
    Redirect(u16),
    /// It is passed on; words in the answer are others.
    Edit(&'static str, &'static str),
}

/// What is done to which requests.
pub struct Rule {
    fault: Fault,
    of: Box<dyn Fn(&Seen) -> bool + Send + Sync>,
    skip_count: u64,
    rest_count: u64,
    /// One of so many is meant.
    step: u64,
    seen_count: u64,
}

impl Rule {
    /// Does something to all requests.
    pub fn new(fault: Fault) -> Rule {
        Rule { fault, of: Box::new(|_| true), skip_count: 0, rest_count: u64::MAX, step: 1, seen_count: 0 }
    }

    /// To those that this is true of.
    #[must_use]
    pub fn of(mut self, of: impl Fn(&Seen) -> bool + Send + Sync + 'static) -> Rule {
        self.of = Box::new(of);
        self
    }

    /// But not to the first of them.
    #[must_use]
    pub fn after(mut self, count: u64) -> Rule {
        self.skip_count = count;
        self
    }

    /// To one of so many of the others, the first of them included.
    #[must_use]
    pub fn every(mut self, step: u64) -> Rule {
        self.step = step.max(1);
        self
    }

    /// To no more than so many.
    #[must_use]
    pub fn times(mut self, count: u64) -> Rule {
        self.rest_count = count;
        self
    }

    /// What is to be done to a request, if this rule is for it.
    pub(crate) fn applied(&mut self, seen: &Seen) -> Option<Fault> {
        if self.rest_count == 0 || !(self.of)(seen) {
            return None;
        }
        if self.skip_count > 0 {
            self.skip_count -= 1;
            return None;
        }
        self.seen_count += 1;
        if !(self.seen_count - 1).is_multiple_of(self.step) {
            return None;
        }
        self.rest_count -= 1;
        Some(self.fault.clone())
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rule({:?}, after {}, {} times)", self.fault, self.skip_count, self.rest_count)
    }
}
