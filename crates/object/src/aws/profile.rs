//! Profiles: what the shared files say of one, and where its credentials come from.

use super::ini::{MAX_BYTE_LEN, Section, Sections};
use super::origin::{Base, Keys, Origin, Role};
use crate::settings::Settings;
use smalti_types::{Error, ErrorKind, Result};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// A role that is taken by a role that is taken by a role: nobody has more than this.
const MAX_ROLE_COUNT: usize = 8;

/// The shared files.
#[derive(Debug)]
pub(crate) struct Profiles {
    config: SharedFile,
    credentials: SharedFile,
    /// The profile that was chosen.
    name: String,
}

#[derive(Debug)]
struct SharedFile {
    path: PathBuf,
    sections: Sections,
}

impl Profiles {
    /// Reads the files that settings name; one that nobody named need not be there.
    ///
    /// # Errors
    /// `InvalidArgument` for files that are damaged, and a profile that was asked for and is not there.
    pub(crate) fn read(settings: &Settings) -> Result<Profiles> {
        let profiles = Profiles {
            config: SharedFile::read(settings, "s3.config_file")?,
            credentials: SharedFile::read(settings, "s3.credentials_file")?,
            name: settings.get("s3.profile").unwrap_or("default").to_owned(),
        };
        if let Some(source) = settings.source("s3.profile")
            && !profiles.has(&profiles.name)
        {
            return Err(profiles.missing(&profiles.name, &source));
        }
        Ok(profiles)
    }

    /// The profile that was chosen.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Where was looked, for messages.
    pub(crate) fn places(&self) -> String {
        format!("{} and {}", self.credentials.path.display(), self.config.path.display())
    }

    /// The region of the profile that was chosen.
    pub(crate) fn region(&self) -> Option<&str> {
        self.value(&self.name, "region")
    }

    /// The address of S3 for the profile that was chosen.
    pub(crate) fn endpoint(&self) -> Option<&str> {
        let services = self.value(&self.name, "services");
        let services = services.and_then(|name| self.config.sections.section(&format!("services {name}")));
        let of_service = services.and_then(|section| filled(section, "s3.endpoint_url"));
        of_service.or_else(|| self.value(&self.name, "endpoint_url"))
    }

    fn section(&self, name: &str) -> Option<&Section> {
        let of_default = || (name == "default").then(|| self.config.sections.section("default")).flatten();
        self.config.sections.section(&format!("profile {name}")).or_else(of_default)
    }

    fn has(&self, name: &str) -> bool {
        self.section(name).is_some() || self.credentials.sections.section(name).is_some()
    }

    fn missing(&self, name: &str, source: &str) -> Error {
        let of_config = self.config.sections.names();
        let of_config = of_config
            .filter_map(|name| name.strip_prefix("profile ").or((name == "default").then_some(name)));
        let mut names: Vec<&str> = of_config.chain(self.credentials.sections.names()).collect();
        names.sort_unstable();
        names.dedup();
        let there_are = match names.as_slice() {
            [] => "there are none".to_owned(),
            names => format!("there are {}", names.join(", ")),
        };
        Error::invalid(format!("the profile {name:?} of {source} is not in {}; {there_are}", self.places()))
    }

    /// A value of a profile: that of the file of credentials goes before that of the other.
    fn value(&self, profile: &str, key: &str) -> Option<&str> {
        let in_credentials =
            self.credentials.sections.section(profile).and_then(|section| filled(section, key));
        in_credentials.or_else(|| filled(self.section(profile)?, key))
    }

    /// Where the credentials of the profile that was chosen come from; `None` where it says nothing of them.
    ///
    /// # Errors
    /// `InvalidArgument` for what contradicts itself, `Unsupported` for what is left to the AWS tools, with the command that helps.
    pub(crate) fn origin(&self) -> Result<Option<Origin>> {
        self.origin_of(&self.name, &mut Vec::new())
    }

    fn origin_of(&self, name: &str, seen: &mut Vec<String>) -> Result<Option<Origin>> {
        let value = |key| self.value(name, key);
        let wrong = |what: &str| {
            Error::invalid(format!("the profile {name:?} of {}: {what}", self.config.path.display()))
        };
        let left = |what: &str, first: &str| {
            Error::unsupported(format!(
                "the profile {name:?} logs in by {what}, which is left to the AWS tools: \
                 {first}eval \"$(aws configure export-credentials --profile {name} --format env)\""
            ))
        };
        if seen.len() == MAX_ROLE_COUNT || seen.iter().any(|other| other == name) {
            return Err(wrong("its role is taken by itself"));
        }
        seen.push(name.to_owned());
        if let Some(arn) = value("role_arn") {
            if value("mfa_serial").is_some() {
                return Err(left("a role with a second factor", ""));
            }
            let role = Role {
                arn: arn.to_owned(),
                session_name: value("role_session_name").unwrap_or("smalti").to_owned(),
                external_id: value("external_id").map(str::to_owned),
                duration_s: match value("duration_seconds").map(str::parse::<u64>) {
                    None => Role::DURATION_S,
                    Some(Ok(seconds @ 900..=43_200)) => seconds,
                    Some(_) => return Err(wrong("duration_seconds is no number from 900 to 43200")),
                },
            };
            let who = format!("the role {arn} of the profile {name}");
            if let Some(path) = value("web_identity_token_file") {
                let base = Base::WebIdentity { token_file: crate::values::path(path), role };
                return Ok(Some(Origin::new(base, who)));
            }
            let mut taken_by = match (value("source_profile"), value("credential_source")) {
                (Some(source), None) if source == name => self.keys_of(name)?,
                (Some(source), None) if !self.has(source) => {
                    return Err(self.missing(source, &format!("the profile {name}")));
                }
                (Some(source), None) => self.origin_of(source, seen)?,
                (None, Some(source)) => {
                    let base = match source {
                        "Environment" => Base::Environment,
                        "Ec2InstanceMetadata" => Base::Machine,
                        "EcsContainer" => Base::Container,
                        _ => return Err(wrong("its credential_source is none")),
                    };
                    Some(Origin::new(base, ""))
                }
                (None, None) => {
                    return Err(wrong("it has a role_arn, but neither source_profile nor credential_source"));
                }
                (Some(_), Some(_)) => return Err(wrong("it has both source_profile and credential_source")),
            };
            return match &mut taken_by {
                Some(origin) => {
                    origin.roles.push(role);
                    origin.who = who;
                    Ok(taken_by)
                }
                None => Err(wrong("the profile that its role is taken by has no credentials")),
            };
        }
        if value("sso_start_url").or(value("sso_session")).is_some() {
            return Err(left("SSO", &format!("aws sso login --profile {name}; ")));
        }
        if let Some(origin) = self.keys_of(name)? {
            return Ok(Some(origin));
        }
        if value("credential_process").is_some() {
            return Err(left("credential_process", ""));
        }
        if value("login_session").is_some() {
            return Err(left("login_session", &format!("aws login --profile {name}; ")));
        }
        Ok(None)
    }

    /// The keys of a profile.
    fn keys_of(&self, name: &str) -> Result<Option<Origin>> {
        for (file, section) in
            [(&self.credentials, self.credentials.sections.section(name)), (&self.config, self.section(name))]
        {
            let Some(section) = section else { continue };
            let value = |key| filled(section, key).map(str::to_owned);
            match (value("aws_access_key_id"), value("aws_secret_access_key")) {
                (Some(id), Some(secret)) => {
                    let who = format!("the key {id} of the profile {name} in {}", file.path.display());
                    let keys = Keys { id, secret, token: value("aws_session_token") };
                    keys.check().map_err(|error| error.context(&who))?;
                    return Ok(Some(Origin::new(Base::Keys(keys), who)));
                }
                (None, None) => {}
                (id, _) => {
                    let absent = if id.is_none() { "aws_access_key_id" } else { "aws_secret_access_key" };
                    return Err(Error::invalid(format!(
                        "the profile {name:?} of {} has no {absent}",
                        file.path.display()
                    )));
                }
            }
        }
        Ok(None)
    }
}

impl SharedFile {
    fn read(settings: &Settings, key: &'static str) -> Result<SharedFile> {
        let path = settings.path(key).unwrap_or_default();
        let is_named = settings.source(key).is_some();
        let sections = match content(&path) {
            Ok(bytes) => Sections::read(&bytes).map_err(|error| error.at_uri(path.display().to_string()))?,
            // Who runs where there is no home is not to stumble over it.
            Err(error)
                if error.kind() == ErrorKind::NotFound
                    || (error.kind() == ErrorKind::Permission && !is_named) =>
            {
                Sections::default()
            }
            Err(error) => return Err(error.at_uri(path.display().to_string())),
        };
        Ok(SharedFile { path, sections })
    }
}

/// A value that is not empty.
fn filled<'s>(section: &'s Section, key: &str) -> Option<&'s str> {
    section.get(key).map(String::as_str).filter(|value| !value.is_empty())
}

fn content(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MAX_BYTE_LEN as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
