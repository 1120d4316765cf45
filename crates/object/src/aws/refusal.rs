//! Refusals of S3 that other credentials may change, told from errors of the crate.

use smalti_types::Error;
use std::error::Error as StdError;

/// Codes of S3 for credentials that have ended.
const ENDED: [&str; 4] = ["ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken"];

/// Why a store refused a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The credentials have ended.
    Ended,
    /// They may not, or the store does not say more: answers without a body have no reason.
    Other,
}

/// The refusal that an error is; `None` for other errors, and those of looking for credentials.
pub(crate) fn refusal(failed: &object_store::Error) -> Option<Refusal> {
    texts(failed)?;
    let code = element(failed, "Code");
    if code.is_some_and(|code| ENDED.contains(&code.as_str())) {
        return Some(Refusal::Ended);
    }
    // Listings that are refused are general errors of the crate.
    let is_refused = [400, 401, 403].iter().any(|status| has(failed, &format!("status code: {status}")))
        || matches!(
            failed,
            object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. }
        );
    is_refused.then_some(Refusal::Other)
}

/// What an element of the answer in XML holds: the first of its name.
pub(crate) fn element(failed: &object_store::Error, name: &str) -> Option<String> {
    let (start, end) = (format!("<{name}>"), format!("</{name}>"));
    texts(failed)?.into_iter().find_map(|text| {
        let (_, rest) = text.split_once(&start)?;
        Some(rest.split_once(&end)?.0.to_owned())
    })
}

fn has(failed: &object_store::Error, part: &str) -> bool {
    texts(failed).is_some_and(|texts| texts.iter().any(|text| text.contains(part)))
}

/// What an error and its causes say; `None` for one of smalti's own, which only went through the crate.
fn texts(failed: &object_store::Error) -> Option<Vec<String>> {
    let mut texts = vec![failed.to_string()];
    let mut last: &(dyn StdError + 'static) = failed;
    while let Some(source) = last.source() {
        if source.is::<Error>() {
            return None;
        }
        texts.push(source.to_string());
        last = source;
    }
    Some(texts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remade::carried;
    use object_store::Error as E;

    fn denied(text: &str) -> E {
        E::PermissionDenied { path: "p".to_owned(), source: text.into() }
    }

    #[test]
    fn refusals_are_told_from_other_errors() {
        assert_eq!(refusal(&denied("<Code>AccessDenied</Code>")), Some(Refusal::Other));
        assert_eq!(refusal(&denied("<Code>ExpiredToken</Code>")), Some(Refusal::Ended));
        let generic = |text: &str| E::Generic { store: "S3", source: text.into() };
        assert_eq!(
            refusal(&generic("status code: 400 Bad Request: <Code>ExpiredToken</Code>")),
            Some(Refusal::Ended)
        );
        assert_eq!(refusal(&generic("status code: 400 Bad Request")), Some(Refusal::Other));
        assert_eq!(refusal(&generic("status code: 403 Forbidden")), Some(Refusal::Other));
        assert_eq!(refusal(&generic("status code: 503")), None);
        assert_eq!(refusal(&E::NotFound { path: "p".to_owned(), source: "x".into() }), None);
        assert_eq!(refusal(&carried(Error::invalid("<Code>ExpiredToken</Code>"))), None);
    }

    #[test]
    fn elements_are_held_by_what_is_whole() {
        assert_eq!(element(&denied("<Region>eu</Region>"), "Region").unwrap(), "eu");
        assert_eq!(element(&denied("<Region>eu"), "Region"), None);
    }
}
