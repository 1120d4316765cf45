//! Credentials for requests to S3: found when they are first needed, kept while they hold, and found again where a store says that they have ended.

use super::container;
use super::origin::{Base, Keys, Origin};
use super::profile::Profiles;
use super::sources;
use super::sts::Sts;
use crate::remade::carried;
use crate::settings::Settings;
use async_trait::async_trait;
use object_store::CredentialProvider;
use object_store::aws::{AwsCredential, AwsCredentialProvider};
use object_store::client::HttpClient;
use smalti_types::{Error, ErrorKind, Result};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// Credentials are asked for anew so long before they end.
const RESERVE: Duration = Duration::from_secs(300);

/// How long the machine's are kept: its service knows itself when they end.
const MACHINE_TIME: Duration = Duration::from_secs(60);

/// How long the machine's service may take the first time: elsewhere nobody answers.
const MACHINE_WAIT: Duration = Duration::from_secs(5);

/// What credentials are asked for with.
pub(crate) struct Asking {
    pub(crate) settings: Settings,
    /// For the container's service, which no proxy reaches.
    pub(crate) near_client: HttpClient,
    pub(crate) sts: Sts,
    /// The machine's role, as the crate asks for it.
    pub(crate) machine: Box<dyn Fn() -> Result<AwsCredentialProvider> + Send + Sync>,
}

/// The credentials of a bucket's clients.
pub(crate) struct Credentials {
    asking: Asking,
    kept: Mutex<State>,
}

#[derive(Default)]
struct State {
    kept: Option<Kept>,
    machine: Option<AwsCredentialProvider>,
    /// Why the machine has none.
    is_absent: Option<String>,
}

struct Kept {
    credential: Arc<AwsCredential>,
    until: Option<Instant>,
}

impl Kept {
    fn holds(&self) -> bool {
        self.until.is_none_or(|until| until > Instant::now())
    }
}

/// What the first look finds.
pub(crate) enum First {
    /// Credentials of somebody.
    Of(String),
    /// None, and why.
    None(String),
}

impl Credentials {
    pub(crate) fn new(asking: Asking) -> Credentials {
        Credentials { asking, kept: Mutex::default() }
    }

    /// Looks for credentials, and says whose they are.
    ///
    /// # Errors
    /// What is wrong with those that were set. Where none were, that is no error.
    pub(crate) async fn first(&self, profiles: &Profiles) -> Result<First> {
        let mut state = self.kept.lock().await;
        let origin = sources::find(&self.asking.settings, profiles)?;
        let none = |why: String| {
            let places = sources::places(&self.asking.settings, profiles);
            First::None(format!("nobody, as no credentials were found: looked at {places}{why}"))
        };
        let is_of_machine = matches!(origin.base, Base::Machine) && origin.roles.is_empty();
        if is_of_machine && self.asking.settings.flag("s3.metadata_disabled") {
            return Ok(none(String::new()));
        }
        if let Some(why) = state.is_absent.clone().filter(|_| is_of_machine) {
            return Ok(none(why));
        }
        if state.kept.as_ref().is_some_and(Kept::holds) {
            return Ok(First::Of(origin.who));
        }
        match self.fetch(&mut state, &origin).await {
            Ok(kept) => {
                state.kept = Some(kept);
                Ok(First::Of(origin.who))
            }
            Err(error) if is_of_machine => {
                let why = format!(", the metadata service ({})", error.message());
                state.is_absent = Some(why.clone());
                Ok(none(why))
            }
            Err(error) => Err(error),
        }
    }

    /// Looks for credentials again, as a store refused those that went along. True for others than before. Without the store's word that they have
    /// ended, this is done only where it costs nobody a request: the shared files may have changed.
    pub(crate) async fn renew(&self, have_ended: bool) -> bool {
        let mut state = self.kept.lock().await;
        let profiles = Profiles::read(&self.asking.settings);
        let Ok(origin) = profiles.and_then(|profiles| sources::find(&self.asking.settings, &profiles)) else {
            return false;
        };
        if !have_ended && !origin.is_at_hand() {
            return false;
        }
        state.machine = None;
        let Ok(new) = self.fetch(&mut state, &origin).await else { return false };
        let is_new = state.kept.as_ref().is_none_or(|kept| kept.credential != new.credential);
        state.kept = Some(new);
        is_new
    }

    async fn fetch(&self, state: &mut State, origin: &Origin) -> Result<Kept> {
        let Asking { settings, near_client, sts, .. } = &self.asking;
        let now = Instant::now();
        let (mut keys, mut rest) = match &origin.base {
            Base::Keys(keys) => (keys.clone(), None),
            Base::Environment => (sources::keys(settings)?, None),
            Base::WebIdentity { token_file, role } => {
                let token = container::token_of(token_file)
                    .map_err(|error| error.context("the token of the web identity"))?;
                let rest = Duration::from_secs(role.duration_s);
                (sts.take_with_token(role, token.trim()).await?, Some(rest))
            }
            Base::Container => container::ask(settings, near_client).await?,
            Base::Machine => (self.machine(state).await?, Some(MACHINE_TIME + RESERVE)),
        };
        for role in &origin.roles {
            keys = sts.take(role, keys).await?;
            rest = Some(Duration::from_secs(role.duration_s));
        }
        let credential = AwsCredential { key_id: keys.id, secret_key: keys.secret, token: keys.token };
        // Of what ends sooner than it is renewed, half the time is used.
        let until = rest.map(|rest| now + rest.saturating_sub(RESERVE).max(rest / 2));
        Ok(Kept { credential: Arc::new(credential), until })
    }

    async fn machine(&self, state: &mut State) -> Result<Keys> {
        let provider = match &state.machine {
            Some(provider) => Arc::clone(provider),
            None => Arc::clone(state.machine.insert((self.asking.machine)()?)),
        };
        let failed = |why: String| Error::new(ErrorKind::Io, why);
        let found = tokio::time::timeout(MACHINE_WAIT, provider.get_credential()).await;
        let found = found.map_err(|_| failed("it did not answer in time".to_owned()))?;
        let found = found.map_err(|error| failed(crate::reason::reason(&error)))?;
        let keys =
            Keys { id: found.key_id.clone(), secret: found.secret_key.clone(), token: found.token.clone() };
        keys.check()?;
        Ok(keys)
    }
}

#[async_trait]
impl CredentialProvider for Credentials {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let mut state = self.kept.lock().await;
        if let Some(kept) = &state.kept
            && kept.holds()
        {
            return Ok(Arc::clone(&kept.credential));
        }
        let fetched = async {
            let profiles = Profiles::read(&self.asking.settings)?;
            let origin = sources::find(&self.asking.settings, &profiles)?;
            self.fetch(&mut state, &origin).await
        };
        let kept = fetched.await.map_err(carried)?;
        let credential = Arc::clone(&kept.credential);
        state.kept = Some(kept);
        Ok(credential)
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}
