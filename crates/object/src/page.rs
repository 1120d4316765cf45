//! Directory listings as web servers give them: pages for people, whose links are the entries, and JSON.
//!
//! nginx (autoindex), Apache (mod_autoindex), Caddy (browse), lighttpd, Python's http.server and others put one link for each entry into the
//! page, relative to the folder or with the folder's path in front, and a slash behind the names of folders. Everything else that pages have
//! (the way up, links for sorting, logos, scripts) is no such link. A name from a page does nothing but name an entry: none has a slash
//! in it, or leads up.

use serde::Deserialize;
use smalti_store::{check_path, percent_decoded};
use smalti_types::{Error, Result};
use std::collections::BTreeMap;

/// The longest page that is read, in bytes.
#[cfg(feature = "http")]
pub(crate) const MAX_BYTE_LEN: u64 = 64 << 20;

/// The most entries that a page may have.
const MAX_ENTRY_COUNT: usize = 1 << 20;

/// An entry of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) is_folder: bool,
    /// The size of a file, where the listing has it to the byte: pages for people round it.
    pub(crate) byte_len: Option<u64>,
}

/// The entries of a page of HTML, sorted; `folder` is the path of the page, decoded, with a slash at both ends.
///
/// # Errors
/// `Unsupported` for more entries than can be.
pub(crate) fn of_html(page: &[u8], folder: &str) -> Result<Vec<Listed>> {
    let mut found: BTreeMap<String, bool> = BTreeMap::new();
    let mut rest = page;
    while let Some(at) = rest.iter().position(|&byte| byte == b'<') {
        rest = rest.get(at + 1..).unwrap_or_default();
        if let Some(comment) = rest.strip_prefix(b"!--") {
            rest = behind(comment, b"-->");
        } else if let Some(script) = after_tag(rest, b"script") {
            rest = behind(script, b"</script");
        } else if let Some(style) = after_tag(rest, b"style") {
            rest = behind(style, b"</style");
        } else if let Some(attributes) = after_tag(rest, b"a") {
            let (link, behind) = link_of(attributes);
            rest = behind;
            let Some((name, is_folder)) = link.and_then(|link| entry_of(&link, folder)) else { continue };
            found.entry(name).or_insert(is_folder);
            if found.len() > MAX_ENTRY_COUNT {
                return Err(too_many());
            }
        }
    }
    let listed = |(name, is_folder)| Listed { name, is_folder, byte_len: None };
    Ok(found.into_iter().map(listed).collect())
}

/// A row of a listing in JSON: nginx says `type`, Caddy `is_dir`.
#[derive(Deserialize)]
struct Row {
    name: String,
    #[serde(default)]
    r#type: Option<String>,
    #[serde(default)]
    is_dir: bool,
    #[serde(default)]
    size: Option<u64>,
}

/// The entries of a listing in JSON, sorted, as nginx and Caddy give it.
///
/// # Errors
/// `Unsupported` for anything else.
pub(crate) fn of_json(page: &[u8]) -> Result<Vec<Listed>> {
    let rows: Vec<Row> = serde_json::from_slice(page).map_err(|error| {
        Error::unsupported(format!(
            "the server sent JSON in the place of a listing, which it is not: {error}"
        ))
    })?;
    if rows.len() > MAX_ENTRY_COUNT {
        return Err(too_many());
    }
    let mut listed: Vec<Listed> = rows
        .into_iter()
        .filter_map(|row| {
            let is_folder =
                row.is_dir || row.r#type.as_deref() == Some("directory") || row.name.ends_with('/');
            let name = row.name.strip_suffix('/').unwrap_or(&row.name);
            is_name(name).then(|| Listed {
                name: name.to_owned(),
                is_folder,
                byte_len: row.size.filter(|_| !is_folder),
            })
        })
        .collect();
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    listed.dedup_by(|a, b| a.name == b.name);
    Ok(listed)
}

fn too_many() -> Error {
    Error::unsupported(format!(
        "the listing has more than {MAX_ENTRY_COUNT} entries; consolidate and vacuum the array, and `smalti manifest` writes a manifest"
    ))
}

/// A single component of a path.
fn is_name(name: &str) -> bool {
    !name.contains('/') && check_path(name).is_ok()
}

/// What follows the first place of some bytes, whatever the case of their letters; nothing where they are not.
fn behind<'p>(page: &'p [u8], end: &[u8]) -> &'p [u8] {
    let at = page.windows(end.len()).position(|window| window.eq_ignore_ascii_case(end));
    at.and_then(|at| page.get(at + end.len()..)).unwrap_or_default()
}

/// What follows the name of a tag, if it has that name.
fn after_tag<'p>(page: &'p [u8], name: &[u8]) -> Option<&'p [u8]> {
    let (start, rest) = page.split_at_checked(name.len())?;
    let is_whole =
        rest.first().is_some_and(|&byte| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/'));
    (start.eq_ignore_ascii_case(name) && is_whole).then_some(rest)
}

/// The bytes up to one that ends them, and what is from there on.
fn until(bytes: &[u8], is_end: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    let at = bytes.iter().position(|&byte| is_end(byte)).unwrap_or(bytes.len());
    bytes.split_at_checked(at).unwrap_or((bytes, &[]))
}

fn trimmed_start(bytes: &[u8]) -> &[u8] {
    until(bytes, |byte| !byte.is_ascii_whitespace()).1
}

/// The value of `href` among the attributes of a tag, and what is behind the tag.
fn link_of(attributes: &[u8]) -> (Option<String>, &[u8]) {
    let mut link = None;
    let mut rest = attributes;
    loop {
        rest = until(rest, |byte| !byte.is_ascii_whitespace() && byte != b'/').1;
        let Some(&first) = rest.first() else { return (link, rest) };
        if first == b'>' {
            return (link, rest.get(1..).unwrap_or_default());
        }
        // The first byte belongs to the name, even if it is `=`.
        let name_end = until(rest.get(1..).unwrap_or_default(), |byte| {
            byte.is_ascii_whitespace() || matches!(byte, b'=' | b'>' | b'/')
        });
        let (name, after) = rest.split_at_checked(name_end.0.len() + 1).unwrap_or((rest, &[]));
        rest = after;
        let Some(value) = trimmed_start(rest).strip_prefix(b"=") else { continue };
        let value = trimmed_start(value);
        let (value, after) = match value.first() {
            Some(&quote @ (b'"' | b'\'')) => {
                let (value, after) = until(value.get(1..).unwrap_or_default(), |byte| byte == quote);
                (value, after.get(1..).unwrap_or_default())
            }
            _ => until(value, |byte| byte.is_ascii_whitespace() || byte == b'>'),
        };
        rest = after;
        if link.is_none() && name.eq_ignore_ascii_case(b"href") {
            link = std::str::from_utf8(value).ok().map(without_entities);
        }
    }
}

/// A text with the character references that addresses have in HTML replaced.
fn without_entities(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        plain.push_str(before);
        // No reference that is meant here is longer.
        let end = after.bytes().take(9).position(|byte| byte == b';');
        let reference = end.and_then(|end| Some((after.get(..end)?, after.get(end + 1..)?)));
        match reference.and_then(|(name, behind)| Some((character(name)?, behind))) {
            Some((character, behind)) => {
                plain.push(character);
                rest = behind;
            }
            None => {
                plain.push('&');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain
}

fn character(name: &str) -> Option<char> {
    let number = match name.strip_prefix('#') {
        None => {
            return match name {
                "amp" => Some('&'),
                "lt" => Some('<'),
                "gt" => Some('>'),
                "quot" => Some('"'),
                "apos" => Some('\''),
                _ => None,
            };
        }
        Some(number) => number,
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    char::from_u32(code.ok()?)
}

/// The entry that a link leads to, and whether it is a folder; `None` for links that lead elsewhere.
fn entry_of(link: &str, folder: &str) -> Option<(String, bool)> {
    let link = link.trim_ascii();
    if link.contains(['?', '#', '\\']) || link.starts_with("//") {
        return None;
    }
    let first = link.split('/').next().unwrap_or_default();
    if first.contains(':') {
        // A scheme.
        return None;
    }
    let is_folder = link.ends_with('/');
    let link = link.strip_suffix('/').unwrap_or(link);
    let link = match link.strip_prefix('/') {
        Some(absolute) => {
            let (above, name) = absolute.rsplit_once('/').unwrap_or(("", absolute));
            let parts = above.split('/').map(percent_decoded).collect::<Result<Vec<_>>>().ok()?;
            let above = parts.join("/");
            let is_here = above.as_str() == folder.trim_matches('/');
            is_here.then_some(name)?
        }
        None => link.strip_prefix("./").unwrap_or(link),
    };
    let name = percent_decoded(link).ok()?;
    (!link.contains('/') && is_name(&name)).then_some((name, is_folder))
}

/// Reads bytes as pages of both kinds, for fuzzers.
pub(crate) fn fuzz(bytes: &[u8]) {
    for listed in [of_html(bytes, "/data/array/"), of_json(bytes)].into_iter().flatten() {
        for pair in listed.windows(2) {
            if let [a, b] = pair {
                assert!(a.name < b.name, "{:?} is not before {:?}", a.name, b.name);
            }
        }
        for entry in listed {
            assert!(is_name(&entry.name), "{:?} is no name", entry.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names, folders with a slash.
    fn names(listed: Result<Vec<Listed>>) -> Vec<String> {
        let shown = |entry: Listed| if entry.is_folder { entry.name + "/" } else { entry.name };
        listed.unwrap().into_iter().map(shown).collect()
    }

    fn of(page: &str) -> Vec<String> {
        names(of_html(page.as_bytes(), "/data/my array/"))
    }

    #[test]
    fn a_page_of_nginx_is_read() {
        let page = "<html>\r\n<head><title>Index of /data/my array/</title></head>\r\n<body>\r\n<h1>Index of /data/my array/</h1><hr><pre><a href=\"../\">../</a>\r\n\
            <a href=\"__commits/\">__commits/</a>                 24-Nov-2026 10:01                   -\r\n\
            <a href=\"a%20b%25c.tdb\">a b%c.tdb</a>              24-Nov-2026 10:01                 312\r\n\
            <a href=\"x%3Ay\">x:y</a>     24-Nov-2026 10:01   0\r\n</pre><hr></body>\r\n</html>\r\n";
        assert_eq!(of(page), ["__commits/", "a b%c.tdb", "x:y"]);
    }

    #[test]
    fn a_page_of_apache_is_read() {
        let page = r#"<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">
            <html><head><title>Index of /data/my array</title></head><body><h1>Index of /data/my array</h1>
            <table><tr><th valign="top"><img src="/icons/blank.gif" alt="[ICO]"></th><th><a href="?C=N;O=D">Name</a></th><th><a href="?C=M;O=A">Last modified</a></th></tr>
            <tr><td valign="top"><img src="/icons/back.gif" alt="[PARENTDIR]"></td><td><a href="/data/">Parent Directory</a></td></tr>
            <tr><td valign="top"><img src="/icons/folder.gif" alt="[DIR]"></td><td><a href="__schema/">__schema/</a></td><td align="right">2026-11-24 10:01  </td></tr>
            <tr><td valign="top"><img src="/icons/unknown.gif" alt="[   ]"></td><td><a href="a&amp;b">a&amp;b</a></td><td align="right">312 </td></tr>
            </table><address>Apache/2.4.62 (Debian) Server at example.org Port 80</address></body></html>"#;
        assert_eq!(of(page), ["__schema/", "a&b"]);
    }

    #[test]
    fn a_page_of_python_is_read() {
        let page = "<!DOCTYPE HTML>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<style type=\"text/css\">\n:root { color-scheme: light dark; }\n</style>\n<title>Directory listing for /data/</title>\n</head>\n<body>\n<h1>Directory listing for /data/</h1>\n<hr>\n<ul>\n\
            <li><a href=\"__fragments/\">__fragments/</a></li>\n<li><a href=\"link\">link@</a></li>\n<li><a href=\"%C3%BC.tdb\">\u{fc}.tdb</a></li>\n</ul>\n<hr>\n</body>\n</html>\n";
        assert_eq!(of(page), ["__fragments/", "link", "\u{fc}.tdb"]);
    }

    #[test]
    fn a_page_of_caddy_is_read_and_its_scripts_are_not() {
        let page = r#"<html><head><style>a > b { content: "<a href='style'>" }</style></head><body>
            <h1><a href="../../">data</a>/<a href="../">up</a></h1><a class="up" href="..">..</a>
            <a href="./?sort=name&amp;order=desc">Name</a>
            <tr class="file"><td></td><td><a href="./__meta/"><svg></svg><span class="name">__meta/</span></a></td></tr>
            <tr class="file"><td><A
              title='a > b' HREF = './file.tdb' >file.tdb</A></td></tr>
            <script>document.write("<a href='script'>")</script><!-- <a href="comment"> -->
            <a href=bare>bare</a><a name="anchor">no link</a></body></html>"#;
        assert_eq!(of(page), ["__meta/", "bare", "file.tdb"]);
    }

    #[test]
    fn absolute_links_count_right_below_the_folder_alone() {
        let page = r#"<a href="/data/my%20array/__schema/"> <a href="/data/my array/file"> <a href="/data/other/file"> <a href="/data/">
            <a href="/"> <a href="/data/my%20array/deep/file"> <a href="//host/data/my%20array/x"> <a href="http://host/x"> <a href="mailto:x">"#;
        assert_eq!(of(page), ["__schema/", "file"]);
    }

    #[test]
    fn no_link_leads_anywhere_but_to_an_entry() {
        for link in [
            "..",
            "../",
            "../x",
            "./..",
            "a/b",
            "a/../b",
            "%2e%2e",
            "%2E%2E/",
            "a%2fb",
            "a%2Fb",
            "a%00b",
            "",
            "/",
            ".",
            "./",
            "#top",
            "?C=N",
            "a?b",
            "a#b",
            "javascript:x",
            "a\\b",
            "%zz",
            "%",
            "%ff",
            "//",
            "///x",
        ] {
            assert!(of(&format!("<a href=\"{link}\">x</a>")).is_empty(), "{link:?}");
        }
        for page in [
            "<a",
            "<a ",
            "<a href",
            "<a href=",
            "<a href=\"x",
            "<",
            "<!--",
            "<script",
            "<script>",
            "<a ====>",
            "&",
        ] {
            of(page);
        }
        assert_eq!(of("<a href=x<a href=y>"), ["x<a"]);
    }

    #[test]
    fn listings_in_json_are_read() {
        let nginx = br#"[
            { "name":"__fragments", "type":"directory", "mtime":"Tue, 24 Nov 2026 10:01:00 GMT" },
            { "name":"../x", "type":"file", "size":1 }, { "name":"a b%c", "type":"file", "mtime":"Tue, 24 Nov 2026 10:01:00 GMT", "size":312 }
        ]"#;
        let listed = of_json(nginx).unwrap();
        assert_eq!(listed.iter().map(|entry| entry.byte_len).collect::<Vec<_>>(), [None, Some(312)]);
        assert_eq!(names(Ok(listed)), ["__fragments/", "a b%c"]);
        let caddy = br#"[{"name":"d/","size":4096,"url":"./d/","mod_time":"2026-11-24T10:01:00Z","mode":2147484141,"is_dir":true,"is_symlink":false},
            {"name":"f","size":7,"url":"./f","is_dir":false}]"#;
        let listed = of_json(caddy).unwrap();
        assert_eq!(listed.iter().map(|entry| entry.byte_len).collect::<Vec<_>>(), [None, Some(7)]);
        assert_eq!(names(Ok(listed)), ["d/", "f"]);
        assert!(of_json(b"{\"error\":404}").is_err());
    }
}
