//! What a query is going to do, as JSON with libtiledb's names.

use super::QueryHandle;
use crate::boundary::entry::entries;
use crate::boundary::{In, New};
use crate::context::Context;
use crate::text::TextHandle;
use crate::uris;
use serde_json::json;
use smalti::Layout;

impl QueryHandle {
    /// What libtiledb calls the way in which it would do this.
    fn strategy(&self) -> &'static str {
        let dups = self.schema.schema.allows_dups;
        match (self.mode == crate::array::READ, self.is_dense(), self.layout) {
            (true, true, _) => "DenseReader",
            (true, false, Layout::Unordered) if dups => "SparseUnorderedWithDupsReader<h>",
            (true, false, Layout::Unordered | Layout::GlobalOrder) => "SparseGlobalOrderReader<h>",
            (true, false, _) => "LegacyReader",
            (false, _, Layout::GlobalOrder) => "GlobalOrderWriter",
            (false, true, _) => "OrderedWriter",
            (false, false, _) => "UnorderedWriter",
        }
    }

    fn plan(&self) -> String {
        let uri = uris::shown(&self.uri);
        let backend = uri.split_once("://").map_or("file", |(scheme, _)| scheme);
        let schema = &self.schema.schema;
        let is_dimension = |name: &str| schema.dimension(name).is_some();
        let names = self.fields.iter().map(|(name, _)| name.clone());
        let (mut dimensions, mut attributes): (Vec<_>, Vec<_>) = names.partition(|name| is_dimension(name));
        if self.is_dense() {
            dimensions = schema.dimensions.iter().map(|dimension| dimension.name.clone()).collect();
        }
        dimensions.sort();
        attributes.sort();
        let layout = match self.layout {
            Layout::GlobalOrder => "global-order",
            other => other.name(),
        };
        // Keys in the order of their names, as libtiledb has them.
        let plan = json!({ "TileDB Query Plan": {
            "Array.Type": if self.is_dense() { "dense" } else { "sparse" },
            "Array.URI": uri,
            "Query.Attributes": attributes,
            "Query.Dimensions": dimensions,
            "Query.Layout": layout,
            "Query.Strategy.Name": self.strategy(),
            "VFS.Backend": backend,
        } });
        // Four spaces a level, where the crate has two.
        let text = serde_json::to_string_pretty(&plan).unwrap_or_default();
        let lines = text.lines().map(|line| {
            let words = line.trim_start();
            format!("{}{words}", " ".repeat(2 * (line.len() - words.len())))
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

entries! {
    fn tiledb_query_get_plan(ctx, query: In<QueryHandle>, plan: New<TextHandle>) {
        plan.put(TextHandle(query.read()?.plan()))
    }
}
