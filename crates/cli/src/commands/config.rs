//! `smalti config`: what object stores and the network are set to, and by whom.

use crate::args::{ConfigArgs, Global};
use crate::failure::{Failure, Outcome};
use serde_json::json;
use smalti::storage::Shown;
use std::io::Write;

pub(super) fn run(global: &Global, args: &ConfigArgs) -> Outcome {
    let prefix = args.prefix.as_deref().unwrap_or_default();
    let mut shown = global.settings()?.shown();
    shown.retain(|shown| shown.key.name.starts_with(prefix));
    if shown.is_empty() {
        return Err(Failure::usage(format!(
            "no setting begins with {prefix:?}; `smalti config` lists them all"
        )));
    }
    let mut out = std::io::stdout().lock();
    if global.json {
        let settings: Vec<_> = shown.iter().map(json_of).collect();
        writeln!(out, "{}", json!({ "settings": settings }))?;
        return Ok(());
    }
    let name_len = shown.iter().map(|shown| shown.key.name.len()).max().unwrap_or_default();
    for Shown { key, value, source, .. } in &shown {
        let value = value.as_deref().unwrap_or("-");
        let source = source.as_deref().map(|source| format!(", from {source}")).unwrap_or_default();
        writeln!(out, "{:name_len$}  {value}{source}", key.name)?;
        writeln!(out, "{:name_len$}    {}", "", key.about)?;
    }
    writeln!(
        out,
        "\nset by --config KEY=VALUE, a variable such as SMALTI_S3_REGION, or a line `key = value` of the file of SMALTI_CONFIG, or of \
         ~/.config/smalti/config"
    )?;
    Ok(())
}

fn json_of(Shown { key, value, source, .. }: &Shown) -> serde_json::Value {
    let variables: Vec<String> = key.variables().collect();
    json!({ "key": key.name, "value": value, "source": source, "variables": variables, "about": key.about })
}
