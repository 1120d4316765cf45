//! Connections: one pool for all stores of a context, with TLS of rustls and ring.

use crate::answers::Answers;
use crate::doubts::{Doubts, doubting};
use crate::proxy::{Shown, proxies, shown};
use crate::settings::Settings;

use object_store::ClientOptions;
use object_store::client::{ClientConfigKey, HttpClient, HttpConnector};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use smalti_types::{Error, Result};
use std::sync::Arc;
use std::time::Duration;

/// How long the service that tells credentials to machines in a cloud may take: elsewhere nobody answers.
const METADATA_CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Gives connections to the clients of stores.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    client: HttpClient,
    /// Gives up soon.
    hasty: HttpClient,
    #[cfg(feature = "http")]
    connections: reqwest::Client,
    doubts: Doubts,
    /// The proxies of the first client, for messages.
    shown: Shown,
}

impl Connector {
    /// The connections that settings ask for.
    ///
    /// # Errors
    /// What is wrong with the file of certificates or the proxy.
    pub(crate) fn new(settings: &Settings) -> Result<Connector> {
        let tls = tls(settings)?;
        let client = |connect_timeout, proxies: Vec<reqwest::Proxy>| {
            let mut builder = reqwest::Client::builder()
                .no_proxy()
                .tls_backend_preconfigured(tls.clone())
                .user_agent(concat!("smalti/", env!("CARGO_PKG_VERSION")))
                .redirect(reqwest::redirect::Policy::none())
                .http1_only()
                .tcp_nodelay(true)
                .connect_timeout(connect_timeout)
                .read_timeout(settings.duration("network.timeout"));
            for proxy in proxies {
                builder = builder.proxy(proxy);
            }
            builder.build().map_err(|error| Error::invalid(format!("no connections can be made: {error}")))
        };
        let timeout = settings.duration("network.connect_timeout");
        let connections = client(timeout, proxies(settings)?)?;
        // No proxy knows the services that are near.
        let hasty = HttpClient::new(client(timeout.min(METADATA_CONNECT_TIMEOUT), Vec::new())?);
        let doubts = Doubts::default();
        Ok(Connector {
            client: doubting(HttpClient::new(connections.clone()), &doubts),
            hasty,
            #[cfg(feature = "http")]
            connections,
            doubts,
            shown: shown(settings),
        })
    }

    /// The connections that another connector gives.
    ///
    /// # Errors
    /// What it reports, and as for [`new`](Connector::new).
    pub(crate) fn of(other: &dyn HttpConnector, settings: &Settings) -> Result<Connector> {
        let failed =
            |error: object_store::Error| Error::invalid(format!("no connections can be made: {error}"));
        let client = other.connect(&ClientOptions::new()).map_err(failed)?;
        let usual = Connector::new(settings)?;
        Ok(Connector { client: doubting(client.clone(), &usual.doubts), hasty: client, ..usual })
    }

    pub(crate) fn doubts(&self) -> Doubts {
        self.doubts.clone()
    }

    /// For services on the network.
    #[cfg(any(feature = "s3", feature = "gcs"))]
    pub(crate) fn client(&self) -> HttpClient {
        self.client.clone()
    }

    /// For services that are near, or not there at all.
    #[cfg(any(feature = "s3", feature = "gcs"))]
    pub(crate) fn near_client(&self) -> HttpClient {
        self.hasty.clone()
    }

    /// Connections for requests that are no store's.
    #[cfg(feature = "http")]
    pub(crate) fn connections(&self) -> reqwest::Client {
        self.connections.clone()
    }
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        // The clients of stores set this for the metadata service alone.
        let is_hasty = options.get_config_value(&ClientConfigKey::ConnectTimeout).is_some();
        Ok(HttpClient::new(match is_hasty {
            true => Answers::new(self.hasty.clone(), Shown::default()),
            false => Answers::new(self.client.clone(), self.shown.clone()),
        }))
    }
}

/// The certificates of the system, and those of a file.
fn tls(settings: &Settings) -> Result<rustls::ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut own = Vec::new();
    if let Some(path) = settings.path("network.ca_file") {
        let shown = path.display().to_string();
        let wrong = |problem: String| Error::invalid(format!("network.ca_file: {problem}")).at_uri(&shown);
        let found = CertificateDer::pem_file_iter(&path).map_err(|error| wrong(error.to_string()))?;
        for certificate in found {
            own.push(certificate.map_err(|error| wrong(error.to_string()))?);
        }
        if own.is_empty() {
            return Err(wrong("there is no certificate in PEM in it".to_owned()));
        }
    }
    let broken = |error: rustls::Error| Error::invalid(format!("TLS cannot be set up: {error}"));
    let builder = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(broken)?;
    let mut roots = RootCertStore::empty();
    // Those of the system that cannot be read are not trusted; what then fails says so.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots.add_parsable_certificates(own);
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
