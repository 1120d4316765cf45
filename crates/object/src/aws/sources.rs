//! Where credentials of S3 are looked for, in the order of the AWS tools: what was set, in the environment or by call; a web identity; the profile of
//! the shared files; the container's service; the machine's metadata service.
//!
//! What was set by a stronger word goes before: a profile that the program names before keys of the environment.

use super::origin::{Base, Keys, Origin, Role};
use super::profile::Profiles;
use crate::settings::Settings;
use smalti_types::{Error, Result};

/// The first source of credentials that there is. The machine is the last, and may have none.
///
/// # Errors
/// `InvalidArgument` for what was set in part, `Unsupported` for what is left to the AWS tools.
pub(crate) fn find(settings: &Settings, profiles: &Profiles) -> Result<Origin> {
    let names = ["s3.access_key_id", "s3.secret_access_key", "s3.web_identity_token_file", "s3.profile"];
    match settings.strongest(&names) {
        Some("s3.access_key_id" | "s3.secret_access_key") => {
            let keys = keys(settings)?;
            let source = settings.source("s3.access_key_id").unwrap_or_default();
            let who = format!("the key {} of {source}", keys.id);
            return Ok(Origin::new(Base::Keys(keys), who));
        }
        Some("s3.web_identity_token_file") => return web_identity(settings),
        _ => {}
    }
    if let Some(origin) = profiles.origin()? {
        return Ok(origin);
    }
    if settings.get("s3.container_path").or(settings.get("s3.container_uri")).is_some() {
        return Ok(Origin::new(Base::Container, "the role of this container"));
    }
    Ok(Origin::new(Base::Machine, "the role of this machine"))
}

/// The keys that were set. A token goes along only if it was set where they were: those of others have other keys.
///
/// # Errors
/// `InvalidArgument` where a part is missing.
pub(crate) fn keys(settings: &Settings) -> Result<Keys> {
    let (id, secret) = (settings.get("s3.access_key_id"), settings.get("s3.secret_access_key"));
    let (Some(id), Some(secret)) = (id, secret) else {
        let (mut set, mut absent) = ("s3.access_key_id", "s3.secret_access_key");
        if id.is_none() {
            std::mem::swap(&mut set, &mut absent);
        }
        let source = settings.source(set);
        return Err(Error::invalid(match source {
            Some(source) => format!("{set} is set by {source}, but {absent} is not"),
            None => format!("neither {absent} nor {set} is set"),
        }));
    };
    let ranks = ["s3.access_key_id", "s3.secret_access_key"].map(|name| settings.rank(name));
    let is_theirs = settings.rank("s3.session_token").is_some_and(|rank| ranks.contains(&Some(rank)));
    let token = settings.get("s3.session_token").filter(|_| is_theirs).map(str::to_owned);
    let keys = Keys { id: id.to_owned(), secret: secret.to_owned(), token };
    keys.check()?;
    Ok(keys)
}

fn web_identity(settings: &Settings) -> Result<Origin> {
    let source = settings.source("s3.web_identity_token_file").unwrap_or_default();
    let (Some(token_file), Some(arn)) =
        (settings.path("s3.web_identity_token_file"), settings.get("s3.role_arn"))
    else {
        let what = format!("s3.web_identity_token_file is set by {source}, but s3.role_arn is not");
        return Err(Error::invalid(what));
    };
    let role = Role {
        arn: arn.to_owned(),
        session_name: settings.get("s3.role_session_name").unwrap_or("smalti").to_owned(),
        external_id: None,
        duration_s: Role::DURATION_S,
    };
    let who = format!("the role {arn}, taken with the web identity of {source}");
    Ok(Origin::new(Base::WebIdentity { token_file, role }, who))
}

/// Where was looked, for who finds nothing.
pub(crate) fn places(settings: &Settings, profiles: &Profiles) -> String {
    let mut places = vec![
        "AWS_ACCESS_KEY_ID".to_owned(),
        "AWS_WEB_IDENTITY_TOKEN_FILE".to_owned(),
        format!("the profile {} of {}", profiles.name(), profiles.places()),
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and _FULL_URI".to_owned(),
    ];
    if settings.flag("s3.metadata_disabled") {
        places.push("no metadata service, which s3.metadata_disabled forbids".to_owned());
    }
    places.join(", ")
}
