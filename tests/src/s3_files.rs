//! A server that speaks S3 over a folder: s3s-fs, in this process.

use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder as ConnectionBuilder;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// The access key, and its secret.
pub const ACCESS_KEY: &str = "testing";

/// A server that is running; it ends with the handle. Buckets are folders in its folder.
///
/// It breaks down where more of the end of an object is asked for than there is: clients set `s3.suffix_ranges` to `false`. Conditions of puts are
/// checked before the write, not with it.
pub struct S3Files {
    port: u16,
    root: PathBuf,
    runtime: Option<Runtime>,
}

impl S3Files {
    /// Starts a server on a free port of the loopback.
    ///
    /// # Errors
    /// Those of the system.
    pub fn start(root: &Path) -> io::Result<S3Files> {
        let files = s3s_fs::FileSystem::new(root).map_err(|error| io::Error::other(format!("{error:?}")))?;
        let mut service = S3ServiceBuilder::new(files);
        service.set_auth(SimpleAuth::from_single(ACCESS_KEY, ACCESS_KEY));
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let port = listener.local_addr()?.port();
        runtime.spawn(serve(listener, service.build(), root.to_owned()));
        Ok(S3Files { port, root: root.to_owned(), runtime: Some(runtime) })
    }

    /// The port of the loopback that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Makes a bucket, unless it is there.
    ///
    /// # Errors
    /// Those of the system.
    pub fn make_bucket(&self, name: &str) -> io::Result<()> {
        std::fs::create_dir_all(self.root.join(name))
    }
}

impl Drop for S3Files {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn serve(listener: TcpListener, service: S3Service, files: PathBuf) {
    let server = ConnectionBuilder::new(TokioExecutor::new());
    while let Ok((socket, _)) = listener.accept().await {
        let _ = socket.set_nodelay(true);
        let (service, files) = (service.clone(), files.clone());
        let answer = service_fn(move |request: Request<Incoming>| {
            let is_folder = is_folder(&files, request.uri().path());
            let answer = Service::call(&service, request);
            async move {
                let mut answer = answer.await?;
                if is_folder && answer.status() == StatusCode::INTERNAL_SERVER_ERROR {
                    *answer.status_mut() = StatusCode::NOT_FOUND;
                }
                Ok::<_, s3s::HttpError>(answer)
            }
        });
        let connection = server.serve_connection(TokioIo::new(socket), answer).into_owned();
        tokio::spawn(async move {
            // The client hears of what fails.
            let _ = connection.await;
        });
    }
}

/// Whether a key is a folder on the disk below the server, which breaks down when it is asked for such an object; in the store there is none.
fn is_folder(files: &Path, key: &str) -> bool {
    files.join(key.trim_start_matches('/')).is_dir()
}
