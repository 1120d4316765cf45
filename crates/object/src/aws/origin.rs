//! Credentials of S3, and where they come from.

use smalti_types::{Error, Result};
use std::fmt;
use std::path::PathBuf;

/// A key, its secret, and the token of a session.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) id: String,
    pub(crate) secret: String,
    pub(crate) token: Option<String>,
}

/// A role that is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Role {
    pub(crate) arn: String,
    pub(crate) session_name: String,
    pub(crate) external_id: Option<String>,
    /// For so many seconds.
    pub(crate) duration_s: u64,
}

/// Credentials before roles are taken.
#[derive(Debug, Clone)]
pub(crate) enum Base {
    Keys(Keys),
    /// The keys of the settings, which a profile refers to.
    Environment,
    WebIdentity {
        token_file: PathBuf,
        role: Role,
    },
    Container,
    Machine,
}

/// Where credentials come from.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) base: Base,
    /// The roles that are taken with it, one after the other.
    pub(crate) roles: Vec<Role>,
    /// Whose credentials these are.
    pub(crate) who: String,
}

impl Origin {
    pub(crate) fn new(base: Base, who: impl Into<String>) -> Origin {
        Origin { base, roles: Vec::new(), who: who.into() }
    }

    /// Whether finding them took no request.
    pub(crate) fn is_at_hand(&self) -> bool {
        matches!(self.base, Base::Keys(_)) && self.roles.is_empty()
    }
}

impl Role {
    /// The time that services give to those who do not ask.
    pub(crate) const DURATION_S: u64 = 3600;
}

impl Keys {
    /// Whether they can go along with a request.
    ///
    /// # Errors
    /// `InvalidArgument`; values are not repeated.
    pub(crate) fn check(&self) -> Result<()> {
        let parts = [("key", Some(&self.id)), ("secret", Some(&self.secret)), ("token", self.token.as_ref())];
        for (name, part) in parts {
            if part.is_some_and(|part| !part.bytes().all(|byte| byte.is_ascii_graphic())) {
                return Err(Error::invalid(format!("there are characters in the {name} that none has")));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({})", self.id)
    }
}
