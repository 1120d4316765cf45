//! Accounts of Azure: what URIs and connection strings say of them.

use crate::values;
use smalti_types::{Error, Result};
use std::fmt;

/// The clouds: what follows `ACCOUNT.blob.` and `ACCOUNT.dfs.` in names of hosts. Credentials go nowhere else unless somebody sets an endpoint.
const PUBLIC_CLOUD: &str = "core.windows.net";
const CLOUDS: [&str; 3] = [PUBLIC_CLOUD, "core.chinacloudapi.cn", "core.usgovcloudapi.net"];

/// The account of the emulators, whose key everybody knows: "Use the Azurite emulator" in Azure's documentation.
const EMULATOR_ACCOUNT: &str = "devstoreaccount1";
const EMULATOR_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const EMULATOR_ENDPOINT: &str = "http://127.0.0.1:10000/devstoreaccount1";

/// A container, and the account if the URI names it: `CONTAINER`, or `CONTAINER@ACCOUNT.dfs.core.windows.net`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) container: String,
    pub(crate) account: Option<Account>,
}

/// An account, and the cloud that it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) name: String,
    cloud: &'static str,
}

impl Account {
    pub(crate) fn endpoint(&self) -> String {
        format!("https://{}.blob.{}", self.name, self.cloud)
    }

    /// An account of the public cloud.
    ///
    /// # Errors
    /// `InvalidArgument` for names that no account has.
    pub(crate) fn of_name(name: &str) -> Result<Account> {
        // Of names host names are made. The service says what it thinks of their length.
        let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        match !name.is_empty() && name.len() <= 63 && name.bytes().all(is_of_name) {
            true => Ok(Account { name: name.to_owned(), cloud: PUBLIC_CLOUD }),
            false => Err(Error::invalid(format!("{name:?} is no name of a storage account"))),
        }
    }

    fn of_host(host: &str) -> Result<Account> {
        let found = CLOUDS.iter().find_map(|&cloud| {
            let front = host.strip_suffix(cloud)?;
            let name = front.strip_suffix(".dfs.").or_else(|| front.strip_suffix(".blob."))?;
            Some((name, cloud))
        });
        let (name, cloud) = found.ok_or_else(|| {
            Error::invalid(format!(
                "{host:?} is no host of a storage account; write CONTAINER@ACCOUNT.dfs.core.windows.net, and set azure.endpoint for others than Azure's own"
            ))
        })?;
        Ok(Account { cloud, ..Account::of_name(name)? })
    }
}

/// Reads what stands for the bucket in a URI.
///
/// # Errors
/// `InvalidArgument` for hosts that are none of Azure.
pub(crate) fn named(bucket: &str) -> Result<Named> {
    let Some((container, host)) = bucket.split_once('@') else {
        return Ok(Named { container: bucket.to_owned(), account: None });
    };
    if container.is_empty() {
        return Err(Error::invalid("there is no container in front of the @"));
    }
    let account = Account::of_host(&host.to_ascii_lowercase())?;
    Ok(Named { container: container.to_owned(), account: Some(account) })
}

/// What a connection string says.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Connection {
    pub(crate) account: String,
    pub(crate) endpoint: String,
    pub(crate) secret: Secret,
}

/// What logs in with a connection string.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Secret {
    Key(String),
    Signature(String),
}

impl Connection {
    /// Reads parts such as `AccountName=...`, between semicolons.
    ///
    /// # Errors
    /// `InvalidArgument`; values are not repeated.
    pub(crate) fn read(text: &str) -> Result<Connection> {
        let part = |name: &str| {
            let parts = text.split(';').filter_map(|part| part.split_once('='));
            let mut found = parts.filter(|(key, _)| key.trim().eq_ignore_ascii_case(name));
            found.next().map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
        };
        if part("UseDevelopmentStorage").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Ok(Connection {
                account: EMULATOR_ACCOUNT.to_owned(),
                endpoint: EMULATOR_ENDPOINT.to_owned(),
                secret: Secret::Key(EMULATOR_KEY.to_owned()),
            });
        }
        let secret = match (part("AccountKey"), part("SharedAccessSignature")) {
            (Some(key), _) => Secret::Key(key.to_owned()),
            (None, Some(signature)) => Secret::Signature(signature.to_owned()),
            (None, None) => {
                return Err(Error::invalid("it has neither AccountKey nor SharedAccessSignature"));
            }
        };
        let blob = part("BlobEndpoint").map(values::address).transpose();
        let blob = blob.map_err(|_| Error::invalid("its BlobEndpoint is no address"))?;
        // Some have only the address, whose host begins with the account.
        let of_blob = || values::host_of(blob.as_deref()?).split_once(".blob.").map(|(name, _)| name);
        let account = part("AccountName").or_else(of_blob);
        let account = account.ok_or_else(|| Error::invalid("it has no AccountName"))?;
        Account::of_name(account).map_err(|_| Error::invalid("its AccountName is none"))?;
        let endpoint = match blob.clone() {
            Some(address) => address,
            None => {
                let scheme = part("DefaultEndpointsProtocol").unwrap_or("https");
                let suffix = part("EndpointSuffix").unwrap_or(PUBLIC_CLOUD);
                let wrong = || Error::invalid("its DefaultEndpointsProtocol or EndpointSuffix is none");
                let is_of_host = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
                if !suffix.bytes().all(is_of_host) {
                    return Err(wrong());
                }
                values::address(&format!("{scheme}://{account}.blob.{suffix}")).map_err(|_| wrong())?
            }
        };
        Ok(Connection { account: account.to_owned(), endpoint, secret })
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Connection({})", self.account)
    }
}

/// Whether an address is one of Azure's own, to which tokens of machines and users may go.
pub(crate) fn is_azure(endpoint: &str) -> bool {
    let host = values::host_of(endpoint).to_ascii_lowercase();
    endpoint.starts_with("https://") && CLOUDS.iter().any(|cloud| host.ends_with(&format!(".{cloud}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_may_name_the_account() {
        assert_eq!(named("box").unwrap(), Named { container: "box".to_owned(), account: None });
        for (host, endpoint) in [
            ("acc.dfs.core.windows.net", "https://acc.blob.core.windows.net"),
            ("acc.blob.core.windows.net", "https://acc.blob.core.windows.net"),
            ("ACC.dfs.core.usgovcloudapi.net", "https://acc.blob.core.usgovcloudapi.net"),
        ] {
            let found = named(&format!("box@{host}")).unwrap();
            assert_eq!(found.container, "box");
            assert_eq!(found.account.unwrap().endpoint(), endpoint);
        }
        for bad in [
            "@acc.dfs.core.windows.net",
            "box@",
            "box@acc",
            "box@evil.example",
            "box@acc.dfs.core.windows.net.evil.example",
            "box@evil.example/.dfs.core.windows.net",
            "box@x@acc.dfs.core.windows.net",
            "box@dfs.core.windows.net",
            "box@.dfs.core.windows.net",
            "box@accdfs.core.windows.net",
        ] {
            assert!(named(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn connection_strings_have_account_secret_and_address() {
        let read = |text: &str| Connection::read(text).unwrap();
        let usual = read(
            "DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=aHVzaA==;EndpointSuffix=core.windows.net",
        );
        assert_eq!(usual.account, "acc");
        assert_eq!(usual.endpoint, "https://acc.blob.core.windows.net");
        assert!(usual.secret == Secret::Key("aHVzaA==".to_owned()));
        let signed =
            read("BlobEndpoint=https://acc.blob.core.windows.net/;SharedAccessSignature=sv=1&sig=hush;");
        assert_eq!(
            (signed.account.as_str(), signed.endpoint.as_str()),
            ("acc", "https://acc.blob.core.windows.net")
        );
        assert!(signed.secret == Secret::Signature("sv=1&sig=hush".to_owned()));
        let emulator = read("UseDevelopmentStorage=true");
        assert_eq!(emulator.endpoint, EMULATOR_ENDPOINT);
        let own = read(
            "AccountName=devstoreaccount1;AccountKey=a;BlobEndpoint=http://127.0.0.1:7/devstoreaccount1",
        );
        assert_eq!(own.endpoint, "http://127.0.0.1:7/devstoreaccount1");
        assert!(!format!("{usual:?} {signed:?}").contains("hush"));
    }

    #[test]
    fn damaged_connection_strings_are_refused_and_not_repeated() {
        for (text, problem) in [
            ("hush", "neither AccountKey"),
            ("AccountKey=hush", "no AccountName"),
            ("AccountName=hush.evil/x;AccountKey=hush", "AccountName is none"),
            ("AccountName=a;AccountKey=hush;BlobEndpoint=hush hush", "BlobEndpoint"),
            ("AccountName=a;AccountKey=hush;EndpointSuffix=hush/@", "EndpointSuffix"),
            ("AccountName=a;AccountKey=hush;DefaultEndpointsProtocol=hush", "Protocol"),
        ] {
            let told = Connection::read(text).unwrap_err().to_string();
            assert!(told.contains(problem) && !told.contains("hush"), "{text}: {told}");
        }
        let mut random = 1_u64;
        let pieces = [
            "AccountName",
            "AccountKey",
            "BlobEndpoint",
            "=",
            ";",
            "https://",
            "é",
            "\0",
            "a",
            "@",
            "/",
            " ",
        ];
        for _ in 0..2000 {
            let text: String = (0..24)
                .map(|_| {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    pieces[usize::try_from(random >> 33).unwrap() % pieces.len()]
                })
                .collect();
            let _ = Connection::read(&text);
            let _ = named(&text);
        }
    }
}
