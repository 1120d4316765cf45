//! A member of a group, and where it is.

use crate::{ArrayPlace, ObjectKind};
use smalti_format::GroupMember;
use smalti_types::{Error, Result};

/// A member of a group, as the group lists it. Nothing need be where it points.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Member {
    /// The URI as it is stored.
    pub uri: String,
    /// Whether the URI counts from the group's folder.
    pub is_relative: bool,
    /// What the member was when it was added; `None` where nobody knew.
    pub kind: Option<ObjectKind>,
    /// The name in the group.
    pub name: Option<String>,
}

impl Member {
    /// What the group knows the member by: its name, or its URI.
    pub fn key(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.uri)
    }

    pub(super) fn of_stored(stored: GroupMember) -> Member {
        Member {
            kind: ObjectKind::of_stored(stored.kind),
            is_relative: stored.is_relative,
            uri: stored.uri,
            name: stored.name,
        }
    }

    pub(super) fn to_stored(&self, version: u32, is_deleted: bool) -> GroupMember {
        GroupMember {
            version,
            kind: ObjectKind::stored(self.kind),
            is_relative: self.is_relative,
            uri: self.uri.clone(),
            name: self.name.clone(),
            is_deleted,
        }
    }
}

impl ArrayPlace {
    /// Where a member of the group at this place is; the place has the group's key and surroundings.
    ///
    /// URIs come from files that anyone may have written. So a relative URI is taken by its words: its parts, without `.` and
    /// empty ones, are appended to the group's path; `..` climbs, and what climbs out of the group is a place like any
    /// other that [`holds`](ArrayPlace::holds) tells apart. An absolute URI must have a scheme or start with a slash. `file://`
    /// stands before the path as it is, without percent-encoding, as libtiledb writes it.
    ///
    /// Legal: relative `a`, `a/b/`, `../beside`; absolute `file:///data/my cities`, `/data/cities`, `mem://x`. Illegal: anything
    /// with a NUL byte; relative `/a`, `file:///a`, the empty text, `.`; absolute `a`, `file://host/a`.
    ///
    /// # Errors
    /// `Corrupt` for an illegal URI, `Unsupported` for a storage that this release does not know.
    pub fn member_place(&self, member: &Member) -> Result<ArrayPlace> {
        let place = if member.is_relative {
            self.relative_place(&member.uri)
        } else {
            self.absolute_place(&member.uri)
        };
        place.map_err(|error| error.context(format_args!("the member {:?}", member.key())).at_uri(self.uri()))
    }

    fn relative_place(&self, uri: &str) -> Result<ArrayPlace> {
        let bad = |why: &str| Err(Error::corrupt(format!("its relative URI {uri:?} {why}")));
        if uri.contains('\0') {
            return bad("holds a NUL byte");
        }
        if uri.starts_with('/') || uri.contains("://") {
            return bad("is absolute");
        }
        let mut path: Vec<&str> = self.path().split('/').collect();
        let mut missing = 0_usize;
        for part in uri.split('/').filter(|part| !matches!(*part, "" | ".")) {
            match (part, path.pop()) {
                ("..", Some(_)) => {}
                ("..", None) => missing += 1,
                (name, last) => path.extend(last.into_iter().chain([name])),
            }
        }
        if path.join("/") == self.path() {
            return bad("is the group itself");
        }
        if missing == 0 && !path.is_empty() {
            return Ok(self.beside(&path.join("/")));
        }
        let address = self.uri();
        if address.contains("://") {
            return bad("climbs out of the storage");
        }
        self.at(&format!("{address}/{uri}"))
    }

    fn absolute_place(&self, uri: &str) -> Result<ArrayPlace> {
        let bad = |why: &str| Err(Error::corrupt(format!("its absolute URI {uri:?} {why}")));
        if uri.contains('\0') {
            return bad("holds a NUL byte");
        }
        let path = uri.strip_prefix("file://").unwrap_or(uri).trim_end_matches('/');
        // In a store of its own, such as one in memory, only the group's place leads to what is in it.
        if let Some(below) = path.strip_prefix(&self.uri()).and_then(|rest| rest.strip_prefix('/'))
            && smalti_store::check_path(below).is_ok()
        {
            return Ok(self.beside(&self.join(below)));
        }
        if path.starts_with('/') || (path.contains("://") && path.len() == uri.trim_end_matches('/').len()) {
            return self.at(path);
        }
        bad(if uri.starts_with("file://") { "names a host" } else { "is not absolute" })
    }

    /// Whether another place is in the folder of this one, deeper than the folder itself, wherever symbolic links lead.
    pub fn holds(&self, other: &ArrayPlace) -> bool {
        path_below(&self.identity(), &other.identity()).is_some()
    }
}

/// The path from a folder to something in it, both absolute.
pub(super) fn path_below<'a>(folder: &str, address: &'a str) -> Option<&'a str> {
    address.strip_prefix(folder)?.strip_prefix('/').filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use smalti_store::{ManualClock, MemoryStore, SeededEntropy, SyncLevel};
    use smalti_types::{Env, ErrorKind};
    use std::sync::Arc;

    fn env() -> Env {
        Env::new(ManualClock::new(1), SeededEntropy::new(1))
    }

    fn place_of(group: &ArrayPlace, uri: &str, is_relative: bool) -> Result<ArrayPlace> {
        group.member_place(&Member { uri: uri.into(), is_relative, kind: None, name: None })
    }

    #[test]
    fn relative_uris_count_from_the_group_and_are_taken_by_their_words() {
        let group = ArrayPlace::in_store(Arc::new(MemoryStore::new()), "top/group".into(), None, env());
        for (uri, path, is_inside) in [
            ("a", "top/group/a", true),
            ("a/", "top/group/a", true),
            ("./a//b", "top/group/a/b", true),
            ("a/../b", "top/group/b", true),
            ("../beside", "top/beside", false),
            ("../../else", "else", false),
            ("..", "top", false),
            ("../groups", "top/groups", false),
        ] {
            let place = place_of(&group, uri, true).unwrap();
            assert_eq!((place.path(), group.holds(&place)), (path, is_inside), "{uri}");
        }
        for uri in ["", ".", "a/..", "../group", "/a", "mem://a", "file:///a", "a\0b", "../..", "../../../x"]
        {
            let error = place_of(&group, uri, true).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{uri:?}: {error}");
        }
    }

    #[test]
    fn absolute_uris_have_a_scheme_or_a_slash() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let base = base.to_str().unwrap();
        let group = ArrayPlace::open(
            &smalti_store::Stores::new(),
            &format!("{base}/g"),
            SyncLevel::None,
            None,
            env(),
        )
        .unwrap();
        for (uri, expected, is_inside) in [
            (format!("file://{base}/g/100%/"), format!("{base}/g/100%"), true),
            (format!("{base}/g/a b"), format!("{base}/g/a b"), true),
            (format!("file://{base}/gg"), format!("{base}/gg"), false),
            (format!("file://{base}/g/../h"), format!("{base}/h"), false),
            ("mem://away/x".into(), "mem://away/x".into(), false),
        ] {
            let place = place_of(&group, &uri, false).unwrap();
            assert_eq!((place.uri(), group.holds(&place)), (expected, is_inside), "{uri}");
        }
        assert_eq!(place_of(&group, "../../x", true).unwrap().path(), "x");
        for uri in ["a", "", "file://host/a", "/a\0", "file://"] {
            assert_eq!(place_of(&group, uri, false).unwrap_err().kind(), ErrorKind::Corrupt, "{uri:?}");
        }
        assert_eq!(place_of(&group, "s3://b/a", false).unwrap_err().kind(), ErrorKind::Unsupported);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leaves_the_group_leads_outside() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("g/real")).unwrap();
        std::fs::create_dir(base.join("away")).unwrap();
        std::os::unix::fs::symlink(base.join("away"), base.join("g/link")).unwrap();
        let group = ArrayPlace::open(
            &smalti_store::Stores::new(),
            base.join("g").to_str().unwrap(),
            SyncLevel::None,
            None,
            env(),
        )
        .unwrap();
        assert!(group.holds(&place_of(&group, "real", true).unwrap()));
        assert!(!group.holds(&place_of(&group, "link", true).unwrap()));
        assert!(!group.holds(&place_of(&group, "link/x", true).unwrap()));
    }
}
