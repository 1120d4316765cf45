//! A server of TLS on the loopback with a certificate of its own, which answers every request with an empty listing of S3.

use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::TlsAcceptor;

const LISTING: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult><Name>ourbucket</Name><Prefix></Prefix>\
                       <KeyCount>0</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated></ListBucketResult>";

/// A server that is running.
pub(crate) struct TlsServer {
    port: u16,
    certificate: String,
    connection_count: Arc<AtomicU64>,
    _runtime: Runtime,
}

fn made(names: &[&str]) -> CertifiedKey<KeyPair> {
    generate_simple_self_signed(names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()).unwrap()
}

/// A certificate for a name, in PEM.
pub(crate) fn pem(name: &str) -> String {
    made(&[name]).cert.pem()
}

impl TlsServer {
    /// Starts a server whose certificate is for these names.
    pub(crate) fn start(names: &[&str]) -> TlsServer {
        let made = made(names);
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0))).unwrap();
        let port = listener.local_addr().unwrap().port();
        let connection_count = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&connection_count);
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counter.fetch_add(1, Relaxed);
                tokio::spawn(answer(acceptor.clone(), stream));
            }
        });
        TlsServer { port, certificate: made.cert.pem(), connection_count, _runtime: runtime }
    }

    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Its certificate in PEM.
    pub(crate) fn certificate(&self) -> &str {
        &self.certificate
    }

    pub(crate) fn connection_count(&self) -> u64 {
        self.connection_count.load(Relaxed)
    }
}

/// Answers one request; clients see the end.
async fn answer(acceptor: TlsAcceptor, stream: TcpStream) {
    let Ok(mut stream) = acceptor.accept(stream).await else { return };
    let mut asked = Vec::new();
    while !asked.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read_buf(&mut asked).await {
            Ok(1..) => {}
            _ => return,
        }
    }
    let length = LISTING.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let _ = stream.write_all(format!("{head}{LISTING}").as_bytes()).await;
    let _ = stream.shutdown().await;
}
