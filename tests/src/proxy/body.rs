//! Bodies of requests and answers on their way through.

use super::shared::Shared;
use super::socket::Reset;
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

/// Any body.
pub(crate) type AnyBody = UnsyncBoxBody<Bytes, io::Error>;

/// A request that is under way, which ends a round with it.
pub(crate) struct UnderWay(Arc<Shared>);

impl UnderWay {
    pub(crate) fn begin(shared: &Arc<Shared>) -> UnderWay {
        let counters = &shared.counters;
        counters.requests.fetch_add(1, Relaxed);
        if counters.under_way.fetch_add(1, Relaxed) == 0 {
            counters.rounds.fetch_add(1, Relaxed);
        }
        UnderWay(Arc::clone(shared))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.counters.under_way.fetch_sub(1, Relaxed);
    }
}

/// Counts what passes in a body. Its length is as known as it was.
pub(crate) struct Counted<B> {
    body: B,
    shared: Arc<Shared>,
    counter: fn(&Shared) -> &AtomicU64,
    /// Goes before the last bytes do: whoever has them may begin the next round.
    under_way: Option<UnderWay>,
}

impl Counted<Incoming> {
    pub(crate) fn request(body: Incoming, shared: &Arc<Shared>) -> Counted<Incoming> {
        let shared = Arc::clone(shared);
        Counted { body, shared, counter: |shared| &shared.counters.bytes_in, under_way: None }
    }
}

impl<B: Body> Counted<B> {
    pub(crate) fn answer(body: B, under_way: UnderWay) -> Counted<B> {
        let shared = Arc::clone(&under_way.0);
        let under_way = (!body.is_end_stream()).then_some(under_way);
        Counted { body, shared, counter: |shared| &shared.counters.bytes_out, under_way }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Counted<B>
where
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let polled = std::task::ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(Ok(frame)) = &polled
            && let Some(bytes) = frame.data_ref()
        {
            (self.counter)(&self.shared).fetch_add(bytes.len() as u64, Relaxed);
        }
        if polled.is_none() || self.body.is_end_stream() {
            self.under_way = None;
        }
        Poll::Ready(polled.map(|frame| frame.map_err(io::Error::other)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// What a broken body does behind its bytes.
#[derive(Debug, Clone)]
pub(crate) enum End {
    /// It is closed in the middle.
    Close,
    /// The connection is reset.
    Reset(Reset),
    /// The same bytes come again, for ever.
    Again,
}

/// A body that does not end as it should; nobody knows its length before.
pub(crate) struct Broken {
    bytes: Option<Bytes>,
    end: End,
    /// Whether the connection had the chance to send the bytes.
    has_waited: bool,
}

impl Broken {
    pub(crate) fn new(bytes: Bytes, end: End) -> Broken {
        Broken { bytes: Some(bytes).filter(|bytes| !bytes.is_empty()), end, has_waited: false }
    }
}

impl Body for Broken {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let (End::Again, Some(bytes)) = (&self.end, &self.bytes) {
            return Poll::Ready(Some(Ok(Frame::data(bytes.clone()))));
        }
        if let Some(bytes) = self.bytes.take() {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        if !self.has_waited {
            self.has_waited = true;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if let End::Reset(reset) = &self.end {
            reset.ask();
        }
        Poll::Ready(Some(Err(io::Error::other("broken on purpose"))))
    }
}
