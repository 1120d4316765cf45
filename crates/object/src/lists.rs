//! Several folders of a bucket in one listing.
//!
//! A listing cuts keys at a delimiter, and shows once what they have in common before it. It need not be the slash: by `s/`, which `__commits/` and
//! `__fragments/` end in, all that is below a folder is listed but what is in those two, however much that is. Not every server knows other
//! delimiters than the slash, and so an answer is believed only if it cuts keys where it was told to, and nowhere else.

use crate::error;
use crate::objects::{Objects, prefix_of};
use futures_util::future::try_join_all;
use object_store::list::PaginatedListOptions;
use smalti_store::{Entry, EntryKind, join};
use smalti_types::Result;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// What one listing says of folders.
enum Together {
    /// The entries of each.
    Lists(Vec<Vec<Entry>>),
    /// There is more than a page, or folders that end as those do that are passed over.
    Unfit,
    /// The server knows no such delimiter.
    Unknown,
}

impl Objects {
    /// What is directly in a folder, and in some of those in it; `without` are folders in it that hold much.
    pub(crate) async fn lists(
        &self,
        folder: &str,
        below: &[String],
        without: &[String],
    ) -> Result<Vec<Vec<Entry>>> {
        let by_slashes = &self.0.lists_by_slashes;
        let delimiter = delimiter_of(without)
            .filter(|delimiter| {
                !below.iter().any(|name| delimiter.strip_suffix('/').is_some_and(|end| name.ends_with(end)))
            })
            .filter(|_| !by_slashes.load(Ordering::Relaxed));
        let together = match delimiter {
            Some(delimiter) => self.together(folder, below, without, delimiter).await,
            None => Ok(Together::Unfit),
        };
        if let Ok(Together::Lists(lists)) = together {
            return Ok(lists);
        }
        let folders = std::iter::once(folder.to_owned()).chain(below.iter().map(|name| join(folder, name)));
        let lists = folders.map(|folder| async move { self.listed(&folder).await });
        let lists = try_join_all(lists).await?;
        if !matches!(together, Ok(Together::Unfit)) {
            by_slashes.store(true, Ordering::Relaxed);
        }
        Ok(lists)
    }

    async fn together(
        &self,
        folder: &str,
        below: &[String],
        without: &[String],
        delimiter: String,
    ) -> Result<Together> {
        let prefix = prefix_of(folder)?.map(|prefix| format!("{prefix}/"));
        let before = prefix.as_deref().unwrap_or_default();
        let options = PaginatedListOptions {
            delimiter: Some(delimiter.clone().into()),
            ..PaginatedListOptions::default()
        };
        let listed = self.within(self.0.client.list_paginated(prefix.as_deref(), options)).await;
        let page = listed.map_err(|failed| error::told(&failed, &self.asked(folder)))?;
        let mut lists: Vec<BTreeMap<(String, EntryKind), u64>> = vec![BTreeMap::new(); 1 + below.len()];
        let mut add = |at: usize, name: &str, kind, byte_len| {
            if let Some(list) = lists.get_mut(at) {
                list.insert((name.to_owned(), kind), byte_len);
            }
        };
        let ending = delimiter.strip_suffix('/').unwrap_or(&delimiter);
        for path in &page.result.common_prefixes {
            let Some(rest) = path.as_ref().strip_prefix(before) else { return Ok(Together::Unknown) };
            if !rest.ends_with(ending) {
                return Ok(Together::Unknown);
            }
            if !without.iter().any(|name| name == rest) {
                return Ok(Together::Unfit);
            }
            add(0, rest, EntryKind::Folder, 0);
        }
        for meta in &page.result.objects {
            let Some(rest) = meta.location.as_ref().strip_prefix(before) else { continue };
            if rest.contains(&delimiter) {
                return Ok(Together::Unknown);
            }
            let Some((name, rest)) = rest.split_once('/') else {
                if !rest.is_empty() {
                    add(0, rest, EntryKind::File, meta.size);
                }
                continue;
            };
            add(0, name, EntryKind::Folder, 0);
            let Some(at) = below.iter().position(|wanted| wanted == name) else { continue };
            match rest.split_once('/') {
                Some((name, _)) => add(at + 1, name, EntryKind::Folder, 0),
                None => add(at + 1, rest, EntryKind::File, meta.size),
            }
        }
        if page.page_token.is_some() {
            return Ok(Together::Unfit);
        }
        page.result.objects.iter().for_each(|meta| self.told(meta));
        let entries = |list: BTreeMap<(String, EntryKind), u64>| {
            list.into_iter().map(|((name, kind), byte_len)| Entry { name, kind, byte_len }).collect()
        };
        Ok(Together::Lists(lists.into_iter().map(entries).collect()))
    }
}

/// What the names of folders end in, all of them, with the slash behind it.
fn delimiter_of(names: &[String]) -> Option<String> {
    let (first, others) = names.split_first()?;
    let is_common =
        |at: &usize| first.get(*at..).is_some_and(|ending| others.iter().all(|name| name.ends_with(ending)));
    let at = (0..first.len()).find(is_common)?;
    first.get(at..).map(|ending| format!("{ending}/"))
}

#[cfg(test)]
mod tests {
    use super::delimiter_of;

    #[test]
    fn a_delimiter_is_what_all_names_end_in() {
        let of = |names: &[&str]| {
            delimiter_of(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>())
        };
        assert_eq!(of(&["__commits", "__fragments", "__labels"]).as_deref(), Some("s/"));
        assert_eq!(of(&["much", "touch"]).as_deref(), Some("uch/"));
        assert_eq!(of(&["one"]).as_deref(), Some("one/"));
        assert_eq!(of(&["ä", "bä"]).as_deref(), Some("ä/"));
        assert_eq!(of(&["é", "è"]), None);
        assert_eq!(of(&["one", "two"]), None);
        assert_eq!(of(&[]), None);
    }
}
