//! Sockets that can be reset from inside.

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll};
use tokio::net::TcpStream;

/// Whether a connection is reset when it is closed. Clones are of the same connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reset(Arc<AtomicBool>);

impl Reset {
    pub(crate) fn ask(&self) {
        self.0.store(true, Relaxed);
    }

    fn is_asked(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// The socket of a connection.
pub(crate) struct Socket {
    inner: TokioIo<TcpStream>,
    reset: Reset,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream, reset: Reset) -> Socket {
        Socket { inner: TokioIo::new(stream), reset }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.reset.is_asked() {
            // A close without lingering is a reset; where that cannot be, the client sees the end.
            let _ = self.inner.inner().set_zero_linger();
        }
    }
}

impl Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl Write for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // An orderly end is none.
        if self.reset.is_asked() { Poll::Ready(Ok(())) } else { Pin::new(&mut self.inner).poll_shutdown(cx) }
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, pieces)
    }
}
