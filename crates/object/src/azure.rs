//! Azure: its clients, with accounts and credentials as Azure's tools find them.

use crate::account::{Account, Connection, Secret, is_azure};
use crate::address::address_of;
use crate::bucket;
use crate::reason::{reason, unopened};
use crate::remade::{Clients, Common, Maker, carried};
use crate::whole_bucket::{Unfinished, WholeBucket};
use async_trait::async_trait;
use object_store::azure::{
    AzureAuthorizer, AzureConfigKey, AzureCredential, AzureCredentialProvider, MicrosoftAzure,
    MicrosoftAzureBuilder,
};
use object_store::client::{HttpClient, HttpRequest, HttpRequestBody};
use object_store::list::{PaginatedListOptions, PaginatedListStore as _};
use object_store::path::Path;
use object_store::{CredentialProvider, RetryConfig};
use smalti_types::{Error, Result};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use crate::account::{Named, named};

/// How long the metadata service may take the first time: elsewhere nobody answers.
const MACHINE_WAIT: Duration = Duration::from_secs(5);

/// Makes clients of a container in Azure.
pub(crate) struct Azure {
    pub(crate) common: Common,
    pub(crate) named: Named,
}

#[async_trait]
impl Maker for Azure {
    async fn make(&self) -> Result<Clients> {
        let builder = self.log_in().await?;
        let of = |key| builder.get_config_value(&key).unwrap_or_default();
        let container = |client: &Arc<MicrosoftAzure>| -> Option<Arc<dyn WholeBucket>> {
            Some(Arc::new(Container {
                client: Arc::clone(client),
                http: self.common.connector.client(),
                account: of(AzureConfigKey::AccountName),
                address: format!("{}/{}", of(AzureConfigKey::Endpoint), self.named.container),
                is_signed: of(AzureConfigKey::SkipSignature) != "true",
            }))
        };
        self.common
            .clients(|retries| builder.clone().with_retry(retries).build(), container)
            .map_err(|failed| unopened(&failed))
    }
}

impl Azure {
    fn builder(&self) -> MicrosoftAzureBuilder {
        MicrosoftAzureBuilder::new()
            .with_container_name(&self.named.container)
            .with_client_options(self.common.options.clone())
            .with_http_connector(self.common.connector.clone())
    }

    /// The account that the URI or a setting names.
    fn account(&self) -> Result<Option<Account>> {
        match &self.named.account {
            Some(account) => Ok(Some(account.clone())),
            None => self.common.settings.get("azure.account").map(Account::of_name).transpose(),
        }
    }

    async fn log_in(&self) -> Result<MicrosoftAzureBuilder> {
        let settings = &self.common.settings;
        let (account, endpoint) = (self.account()?, address_of(settings, "azure.endpoint")?);
        let chosen = match settings.flag("azure.anonymous") {
            true => None,
            false => settings.strongest(&[
                "azure.connection_string",
                "azure.key",
                "azure.sas",
                "azure.token",
                "azure.federated_token_file",
                "azure.client_secret",
            ]),
        };
        let source = chosen.and_then(|name| settings.source(name)).unwrap_or_default();
        let connection = match chosen {
            Some("azure.connection_string") => {
                let text = settings.get("azure.connection_string").unwrap_or_default();
                let read = Connection::read(text);
                Some(read.map_err(|error| error.context(format_args!("the connection string of {source}")))?)
            }
            _ => None,
        };
        // A connection string is of its account; a URI may not take its secret elsewhere.
        let account = match (&connection, &self.named.account) {
            (Some(connection), None) => Account::of_name(&connection.account)?,
            _ => account.ok_or_else(|| {
                Error::invalid(
                    "the storage account is not known; set azure.account or AZURE_STORAGE_ACCOUNT_NAME, or write CONTAINER@ACCOUNT.dfs.core.windows.net",
                )
            })?,
        };
        let secret_of = match (&connection, chosen) {
            (Some(connection), _) => Some(connection.account.as_str()),
            (None, Some("azure.key" | "azure.sas")) => settings.get("azure.account"),
            _ => None,
        };
        if let Some(other) = secret_of.filter(|other| *other != account.name) {
            return Err(Error::invalid(format!(
                "the URI names the account {:?}, but the secret of {source} is of {other:?}",
                account.name
            )));
        }
        let endpoint = endpoint.or_else(|| Some(connection.as_ref()?.endpoint.clone()));
        let endpoint = endpoint.unwrap_or_else(|| account.endpoint());
        let builder = self.builder().with_account(&account.name).with_endpoint(endpoint.clone());
        if settings.flag("azure.anonymous") {
            self.common.who.is("nobody (azure.anonymous)");
            return Ok(builder.with_skip_signature(true));
        }
        if let Some(connection) = connection {
            self.common.who.is(format!("the connection string of {source}"));
            return Ok(match connection.secret {
                Secret::Key(key) => builder.with_access_key(key),
                Secret::Signature(signature) => builder.with_config(AzureConfigKey::SasKey, signature),
            });
        }
        match chosen {
            Some(name) => self.with_secret(builder, name, &account.name, &source),
            None => self.without_secret(builder, &endpoint).await,
        }
    }

    fn with_secret(
        &self,
        builder: MicrosoftAzureBuilder,
        name: &'static str,
        account: &str,
        source: &str,
    ) -> Result<MicrosoftAzureBuilder> {
        let settings = &self.common.settings;
        let value = settings.get(name).unwrap_or_default();
        let client = settings.get("azure.client_id").unwrap_or_default();
        let with_client = |builder: MicrosoftAzureBuilder| {
            let tenant = settings.get("azure.tenant_id").filter(|_| !client.is_empty());
            let tenant = tenant.ok_or_else(|| {
                Error::invalid(format!(
                    "{name} is set by {source}, but azure.client_id and azure.tenant_id are not both set"
                ))
            })?;
            let builder = builder.with_client_id(client).with_tenant_id(tenant);
            let authority = address_of(settings, "azure.authority")?;
            Ok::<_, Error>(match authority {
                Some(authority) => builder.with_authority_host(authority),
                None => builder,
            })
        };
        Ok(match name {
            "azure.key" => {
                self.common.who.is(format!("the key of the account {account}, of {source}"));
                builder.with_access_key(value)
            }
            "azure.sas" => {
                self.common.who.is(format!("the shared access signature of {source}"));
                builder.with_config(AzureConfigKey::SasKey, value)
            }
            "azure.token" => {
                if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
                    return Err(Error::invalid(format!(
                        "the token of {source} has characters that none has"
                    )));
                }
                self.common.who.is(format!("the token of {source}"));
                builder.with_bearer_token_authorization(value)
            }
            "azure.federated_token_file" => {
                self.common
                    .who
                    .is(format!("the application {client}, with the workload identity of {source}"));
                let path = settings.path(name).unwrap_or_default().display().to_string();
                with_client(builder)?.with_config(AzureConfigKey::FederatedTokenFile, path)
            }
            _ => {
                self.common.who.is(format!("the application {client}, with the secret of {source}"));
                with_client(builder)?.with_client_secret(value)
            }
        })
    }

    /// The identity of this machine, or the login of the command `az`, or nobody. Tokens of these go to Azure alone, unless somebody says that they
    /// are to be used.
    async fn without_secret(
        &self,
        builder: MicrosoftAzureBuilder,
        endpoint: &str,
    ) -> Result<MicrosoftAzureBuilder> {
        let settings = &self.common.settings;
        let may_use = |name: &'static str| is_azure(endpoint) || settings.source(name).is_some();
        let mut places =
            vec!["AZURE_STORAGE_CONNECTION_STRING, _KEY and _SAS_TOKEN, AZURE_CLIENT_SECRET".to_owned()];
        if !settings.flag("azure.metadata_disabled") && may_use("azure.identity_endpoint") {
            let mut asking = self
                .builder()
                .with_account("any")
                .with_config(AzureConfigKey::CredentialType, "managed_identity");
            if let Some(client) = settings.get("azure.client_id") {
                asking = asking.with_client_id(client);
            }
            if let Some(endpoint) = address_of(settings, "azure.identity_endpoint")? {
                asking = asking.with_msi_endpoint(endpoint);
            }
            let retries = RetryConfig { max_retries: 1, ..self.common.retries.clone() };
            let client = asking.with_retry(retries).build().map_err(|failed| unopened(&failed))?;
            let machine = Arc::clone(client.credentials());
            match first(&machine).await {
                Ok(()) => {
                    self.common.who.is("the managed identity of this machine");
                    return Ok(builder.with_credentials(machine));
                }
                Err(why) => places.push(format!("the metadata service ({why})")),
            }
        }
        if settings.flag("azure.cli") && may_use("azure.cli") {
            let asking =
                self.builder().with_account("any").with_config(AzureConfigKey::CredentialType, "azure_cli");
            let client = asking.build().map_err(|failed| unopened(&failed))?;
            let user: AzureCredentialProvider = Arc::new(Aside(Arc::clone(client.credentials())));
            match first(&user).await {
                Ok(()) => {
                    self.common.who.is("the login of the command az");
                    return Ok(builder.with_credentials(user));
                }
                Err(why) => places.push(format!("the command az ({why})")),
            }
        }
        self.common.who.is(format!("nobody, as no credentials were found: looked at {}", places.join(", ")));
        Ok(builder.with_skip_signature(true))
    }
}

/// Whether there are credentials, or why there are none.
async fn first(provider: &AzureCredentialProvider) -> Result<(), String> {
    match tokio::time::timeout(MACHINE_WAIT, provider.get_credential()).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(failed)) => Err(reason(&failed)),
        Err(_) => Err("it did not answer in time".to_owned()),
    }
}

/// Credentials of a command, which is not waited for by the thread that waits for the network.
#[derive(Debug)]
struct Aside(AzureCredentialProvider);

#[async_trait]
impl CredentialProvider for Aside {
    type Credential = AzureCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AzureCredential>> {
        let (provider, runtime) = (Arc::clone(&self.0), tokio::runtime::Handle::current());
        let asked = tokio::task::spawn_blocking(move || runtime.block_on(provider.get_credential()));
        asked.await?
    }
}

/// What makes and removes a container.
#[derive(Debug)]
struct Container {
    client: Arc<MicrosoftAzure>,
    http: HttpClient,
    account: String,
    /// That of the container.
    address: String,
    is_signed: bool,
}

impl Container {
    /// Asks for a change of the container itself.
    async fn change(&self, method: reqwest::Method) -> object_store::Result<()> {
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.method_mut() = method;
        let address = format!("{}?restype=container", self.address);
        *request.uri_mut() = address
            .parse()
            .map_err(|_| carried(Error::invalid("the endpoint makes no address of a container")))?;
        if !self.is_signed {
            let path = self.address.clone();
            let source = "containers are made and removed by those who log in".into();
            return Err(object_store::Error::PermissionDenied { path, source });
        }
        let credential = self.client.credentials().get_credential().await?;
        AzureAuthorizer::new(&credential, &self.account).try_authorize(&mut request)?;
        bucket::change(&self.http, request).await
    }
}

#[async_trait]
impl WholeBucket for Container {
    /// Nobody tells of blocks that are not committed; they go after a week.
    async fn unfinished(&self, _prefix: &str) -> object_store::Result<Vec<Unfinished>> {
        Ok(Vec::new())
    }

    async fn abort(&self, _key: &Path, _id: &str) -> object_store::Result<()> {
        Err(object_store::Error::NotSupported { source: "the store has no uploads to give up".into() })
    }

    async fn create_bucket(&self) -> object_store::Result<()> {
        self.change(reqwest::Method::PUT).await
    }

    async fn remove_bucket(&self) -> object_store::Result<()> {
        // Azure itself removes containers with all that is in them.
        let one = PaginatedListOptions { max_keys: Some(1), ..PaginatedListOptions::default() };
        match self.client.list_paginated(None, one).await?.result.objects.is_empty() {
            true => self.change(reqwest::Method::DELETE).await,
            false => Err(bucket::not_empty()),
        }
    }
}

impl fmt::Debug for Azure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Azure({:?})", self.named)
    }
}
