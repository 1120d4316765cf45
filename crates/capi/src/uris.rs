//! URIs as they are told: paths become absolute and get their scheme.

/// A URI with its scheme.
pub(crate) fn shown(uri: &str) -> String {
    if uri.contains("://") {
        return uri.to_owned();
    }
    let path = std::path::absolute(uri).unwrap_or_else(|_| uri.into());
    format!("file://{}", path.display())
}

/// A URI as the engine takes it: names in memory do not begin with slashes there.
pub(crate) fn inner(uri: &str) -> String {
    match uri.strip_prefix("mem://") {
        Some(name) => format!("mem://{}", name.trim_start_matches('/')),
        None => uri.to_owned(),
    }
}
