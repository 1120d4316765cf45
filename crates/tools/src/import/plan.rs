//! The schema that a table or NumPy file asks for, with the reason for each choice. The rules are those of docs/import.md.

use super::extents::{dense_extents, sparse_extents};
use super::filters::Chosen;
use super::options::TableOptions;
use super::survey::Survey;
use super::types::{FieldType, field_type};
use crate::failure::{Failure, Outcome};
use crate::ranges;
use arrow_schema::Field;
use serde_json::{Value, json};
use smalti::format::Dimension;
use smalti::json::CellNotation;
use smalti::{CellShape, CellValNum, Datatype, FilterPipeline, Scalar};

/// The dimension that numbers rows.
pub(super) const ROW: &str = "row";

/// Rows from which data tiles are larger.
const MANY_ROWS: u64 = 1_000_000;

/// The greatest number of a row: half of the type, so that extents fit behind it.
const MAX_ROW: u64 = i64::MAX as u64 - 1;

/// What an import would do.
#[derive(Debug)]
pub struct Plan {
    /// Whether it would make the array.
    pub is_new: bool,
    /// The schema as JSON: that of the array it would make, or of the one that is there.
    pub schema: Value,
    /// Of parts of the schema, why they are so; of an array that is there, what becomes of its fields and enumerations.
    pub reasons: Vec<(String, String)>,
}

/// A dimension that is being chosen.
#[derive(Debug, Clone)]
pub(super) struct PlannedDimension {
    pub(super) name: String,
    pub(super) datatype: Datatype,
    /// `None` for strings.
    pub(super) domain: Option<(Scalar, Scalar)>,
    pub(super) tile: Option<Scalar>,
    filters: Chosen,
    reason: String,
}

/// An attribute that is being chosen.
#[derive(Debug, Clone)]
pub(super) struct PlannedAttribute {
    pub(super) name: String,
    pub(super) shape: CellShape,
    /// The labels of its enumeration.
    pub(super) labels: Option<Vec<String>>,
    pub(super) filters: Chosen,
    pub(super) reason: String,
}

/// The fields of a table that become dimensions; those of the rows' numbers stand alone.
///
/// # Errors
/// Columns that are not there, or no dimension is.
pub(super) fn check_dimensions(args: &TableOptions, fields: &[Field]) -> Outcome {
    let known = || fields.iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join(", ");
    if args.dims.is_empty() && !args.index {
        return Err(Failure::usage(format!(
            "say which columns are the dimensions, with --dims; or number the rows, with --index. There are {}",
            known()
        )));
    }
    for (option, names) in [("--dims", &args.dims), ("--enum", &args.enumerate)] {
        for (idx, name) in names.iter().enumerate() {
            if fields.iter().all(|field| field.name() != name) {
                return Err(Failure::invalid(format!(
                    "{option}: there is no column {name:?}; there are {}",
                    known()
                )));
            }
            if names[..idx].contains(name) {
                return Err(Failure::usage(format!("{option}: {name:?} is named twice")));
            }
        }
    }
    if let Some(name) = args.enumerate.iter().find(|name| args.dims.contains(name)) {
        return Err(Failure::usage(format!(
            "--enum {name}: it is a dimension, and dimensions hold their values themselves"
        )));
    }
    if args.index && fields.iter().any(|field| field.name() == ROW) {
        return Err(Failure::invalid(format!(
            "--index: a column is called {ROW:?}, as the dimension would be; give it another name with --rename"
        )));
    }
    Ok(())
}

/// The type of a column.
///
/// # Errors
/// When no field can hold it, with what can be done.
pub(super) fn type_of(field: &Field) -> Outcome<FieldType> {
    field_type(field).map_err(|problem| {
        Failure::invalid(format!(
            "column {:?} has {problem}; leave it out by naming the others with --columns, or convert it",
            field.name()
        ))
    })
}

/// The schema of a table.
///
/// # Errors
/// Name the column or option, and what can be done.
pub(super) fn of_table(args: &TableOptions, fields: &[Field], survey: &Survey) -> Outcome<Plan> {
    let is_dense = args.dense;
    let mut dimensions = Vec::new();
    if args.index {
        let hi = if is_dense { survey.row_count.saturating_sub(1) } else { MAX_ROW };
        dimensions.push(PlannedDimension {
            name: ROW.into(),
            datatype: Datatype::UInt64,
            domain: Some((Scalar::U64(0), Scalar::U64(hi))),
            tile: None,
            filters: Chosen::of_numbers(),
            reason: "the numbers of the rows, as --index asks".into(),
        });
    }
    for name in &args.dims {
        let field = fields.iter().find(|field| field.name() == name);
        let field = field.ok_or_else(|| Failure::invalid(format!("--dims: there is no column {name:?}")))?;
        dimensions.push(dimension(field, survey, is_dense)?);
    }
    let mut attributes = Vec::new();
    for field in fields.iter().filter(|field| !args.dims.contains(field.name())) {
        attributes.push(attribute(args, field, survey)?);
    }
    if attributes.is_empty() {
        return Err(Failure::invalid(
            "all columns are dimensions; an array needs an attribute: take one out of --dims",
        ));
    }
    of_parts(args, is_dense, dimensions, attributes, survey.row_count)
}

fn dimension(field: &Field, survey: &Survey, is_dense: bool) -> Outcome<PlannedDimension> {
    let name = field.name();
    let shape = type_of(field)?.shape;
    let wrong = |problem: String| Failure::invalid(format!("--dims: column {name:?} {problem}"));
    let facts = survey.facts.get(name);
    if shape.datatype == Datatype::StringUtf8 || shape.datatype == Datatype::StringAscii {
        if is_dense {
            return Err(wrong(
                "holds text, which no dense dimension is; make a sparse array, without --dense".into(),
            ));
        }
        return Ok(PlannedDimension {
            name: name.clone(),
            datatype: Datatype::StringAscii,
            domain: None,
            tile: None,
            filters: Chosen::default(),
            reason: "text; string dimensions have no domain".into(),
        });
    }
    let is_number = shape.cell_val_num == CellValNum::ONE
        && !shape.datatype.is_bytes()
        && shape.datatype != Datatype::Bool;
    if !is_number || shape.datatype.is_string() {
        return Err(wrong(format!(
            "holds {}, which are no coordinates; take it out of --dims",
            shape.datatype
        )));
    }
    if is_dense && shape.datatype.is_float() {
        return Err(wrong(
            "holds floats, which no dense dimension is; make a sparse array, without --dense".into(),
        ));
    }
    let (lo, hi) = facts.and_then(|facts| facts.bounds).ok_or_else(|| wrong("holds no value".into()))?;
    let cast = |value: Scalar| value.cast(shape.datatype).map_err(|error| wrong(error.message().into()));
    let filters = if is_dense { Chosen::default() } else { survey.sample.choose(name, shape) };
    Ok(PlannedDimension {
        name: name.clone(),
        datatype: shape.datatype,
        domain: Some((cast(lo)?, cast(hi)?)),
        tile: None,
        filters,
        reason: "the least and the greatest value of the column".into(),
    })
}

fn attribute(args: &TableOptions, field: &Field, survey: &Survey) -> Outcome<PlannedAttribute> {
    let name = field.name();
    let FieldType { mut shape, is_enumerated, .. } = type_of(field)?;
    let facts = survey.facts.get(name);
    let null_count = facts.map_or(0, |facts| facts.null_count);
    shape.is_nullable = field.is_nullable() && (null_count > 0 || is_kept_nullable(field, survey));
    let asked = args.enumerate.contains(name);
    let is_text = matches!(shape.datatype, Datatype::StringUtf8 | Datatype::StringAscii);
    if asked && !is_text {
        return Err(Failure::invalid(format!(
            "--enum {name}: the column holds {}, and labels are made of text; leave it out of --enum",
            shape.datatype
        )));
    }
    let labels = match (asked || is_enumerated && is_text, facts) {
        (true, Some(facts)) => Some(facts.labels.clone()),
        (true, None) => Some(Vec::new()),
        _ => None,
    };
    let mut reason = format!("the column is {}", field.data_type());
    if shape.is_nullable {
        reason.push_str(&match null_count {
            0 => "; it may hold nulls".to_owned(),
            1 => "; 1 null".to_owned(),
            count => format!("; {count} nulls"),
        });
    }
    if let Some(labels) = &labels {
        reason.push_str(&format!("; an enumeration of {} labels", labels.len()));
    }
    let filters = match &labels {
        Some(_) => Chosen::default(),
        None => survey.sample.choose(name, shape),
    };
    Ok(PlannedAttribute { name: name.clone(), shape, labels, filters, reason })
}

/// Columns of text are as nullable as their values; other files say it themselves.
fn is_kept_nullable(field: &Field, survey: &Survey) -> bool {
    !survey.is_text && field.is_nullable()
}

/// The schema of planned dimensions and attributes.
///
/// # Errors
/// Options that do not fit the dimensions.
pub(super) fn of_parts(
    args: &TableOptions,
    is_dense: bool,
    mut dimensions: Vec<PlannedDimension>,
    attributes: Vec<PlannedAttribute>,
    row_count: u64,
) -> Outcome<Plan> {
    for text in &args.domain {
        let (idx, ends) = option_of("--domain", text, &dimensions)?;
        set_domain(&mut dimensions[idx], text, ends)?;
    }
    if let (Some(capacity), true) = (args.capacity, is_dense) {
        return Err(Failure::usage(format!(
            "--capacity {capacity} is for sparse arrays; give --tile for the dimensions"
        )));
    }
    let capacity = args.capacity.unwrap_or(if row_count < MANY_ROWS { 10_000 } else { 100_000 });
    let is_index = |dimension: &PlannedDimension| args.index && dimension.name == ROW;
    let lens: Vec<Option<f64>> = dimensions
        .iter()
        .map(|dimension| match dimension.domain {
            // Rows are numbered in their order: tiles follow each other however long they are.
            _ if is_index(dimension) && !is_dense => None,
            Some((lo, hi)) => Some(length(lo, hi)),
            None => None,
        })
        .collect();
    let extents = if is_dense { dense_extents(&lens) } else { sparse_extents(&lens, row_count, capacity) };
    for (dimension, extent) in dimensions.iter_mut().zip(extents) {
        dimension.tile = extent.and_then(|extent| extent_scalar(dimension, extent));
    }
    let mut reasons = Vec::new();
    for text in &args.tile {
        let (idx, value) = option_of("--tile", text, &dimensions)?;
        set_tile(&mut dimensions[idx], text, value)?;
    }
    reasons.push((
        "array_type".to_owned(),
        match (is_dense, args.dense || args.sparse) {
            (true, true) => "dense, as asked".to_owned(),
            (true, false) => "dense: the file holds a grid".to_owned(),
            (false, true) => "sparse, as asked".to_owned(),
            (false, false) => {
                "sparse: the rows of a table need not fill a grid; --dense if they do".to_owned()
            }
        },
    ));
    for dimension in &dimensions {
        let tile = match dimension.tile {
            Some(_) if args.tile.iter().any(|text| text.starts_with(&format!("{}=", dimension.name))) => {
                "; tile as asked"
            }
            Some(_) if is_dense => "; tile by the rule of 65,536 cells",
            Some(_) => "; tile by the rule of a space tile for each data tile",
            None => "",
        };
        reasons.push((
            dimension.name.clone(),
            format!("{}{tile}{}", dimension.reason, dimension.filters.told()),
        ));
    }
    for attribute in &attributes {
        reasons.push((attribute.name.clone(), format!("{}{}", attribute.reason, attribute.filters.told())));
    }
    let all = dimensions.iter().map(|dimension| &dimension.filters);
    let mut all = all.chain(attributes.iter().map(|attribute| &attribute.filters));
    let exceptions = match all.any(|filters| filters.is_by_sample()) {
        true => ", others before it where the values say so",
        false => "",
    };
    reasons.push((
        "filters".to_owned(),
        format!("zstd at its default level, for coordinates and attributes{exceptions}"),
    ));
    if !is_dense {
        reasons.push((
            "capacity".to_owned(),
            match args.capacity {
                Some(_) => "as asked".to_owned(),
                None => format!("{row_count} rows; from {MANY_ROWS} on it is 100000"),
            },
        ));
    }
    if args.allow_dups {
        reasons.push(("allows_dups".to_owned(), "as asked".to_owned()));
    }
    Ok(Plan {
        is_new: true,
        schema: schema_json(args, is_dense, &dimensions, &attributes, capacity),
        reasons,
    })
}

fn schema_json(
    args: &TableOptions,
    is_dense: bool,
    dimensions: &[PlannedDimension],
    attributes: &[PlannedAttribute],
    capacity: u64,
) -> Value {
    let zstd = Chosen::default().json();
    let dims: Vec<Value> = dimensions
        .iter()
        .map(|dimension| {
            let number = |value: Scalar| cell_json(dimension.datatype, value);
            let mut one = json!({
                "name": dimension.name,
                "type": dimension.datatype.name(),
                "domain": dimension.domain.map(|(lo, hi)| vec![number(lo), number(hi)]),
                // Numbers of steps, of dates and times too.
                "tile": dimension.tile.map(plain_json),
            });
            // Of dense arrays no coordinates are stored.
            if !is_dense && !dimension.filters.is_zstd() {
                one["filters"] = dimension.filters.json();
            }
            one
        })
        .collect();
    let mut enumerations = Vec::new();
    let attrs: Vec<Value> = attributes
        .iter()
        .map(|attribute| {
            let count = match attribute.shape.cell_val_num.fixed() {
                Some(count) => json!(count),
                None => json!("var"),
            };
            let mut one = json!({"name": attribute.name, "type": attribute.shape.datatype.name(), "cell_val_num": count});
            if let Some(labels) = &attribute.labels {
                one["type"] = code_type(labels.len()).name().into();
                one["cell_val_num"] = 1.into();
                one["enumeration"] = attribute.name.as_str().into();
                enumerations.push(json!({
                    "name": attribute.name,
                    "type": attribute.shape.datatype.name(),
                    "cell_val_num": "var",
                    "ordered": false,
                    "values": labels,
                }));
            }
            if attribute.shape.is_nullable {
                one["nullable"] = true.into();
            }
            one["filters"] = attribute.filters.json();
            one
        })
        .collect();
    let mut schema = json!({"array_type": if is_dense { "dense" } else { "sparse" }});
    if !is_dense {
        schema["capacity"] = capacity.into();
        schema["allows_dups"] = args.allow_dups.into();
    }
    schema["coords_filters"] =
        json!({"max_chunk_size": FilterPipeline::default().max_chunk_size, "filters": zstd});
    let is_text = |dimension: &PlannedDimension| dimension.domain.is_none();
    if dimensions.iter().any(is_text) || attrs.iter().any(|one| one["cell_val_num"] == "var") {
        schema["offsets_filters"] = json!({
            "max_chunk_size": FilterPipeline::default().max_chunk_size,
            "filters": Chosen::of_numbers().json(),
        });
    }
    schema["dims"] = dims.into();
    schema["attrs"] = attrs.into();
    if !enumerations.is_empty() {
        schema["enumerations"] = enumerations.into();
    }
    schema
}

/// The type of codes: with room for as many labels again.
fn code_type(label_count: usize) -> Datatype {
    match label_count {
        0..=127 => Datatype::UInt8,
        128..=32_767 => Datatype::UInt16,
        _ => Datatype::UInt32,
    }
}

/// A coordinate as schemas and messages show it.
pub(super) fn cell_json(datatype: Datatype, value: Scalar) -> Value {
    let mut out = Vec::new();
    CellNotation::new(datatype, CellValNum::ONE, true).push(&mut out, &value.to_le_bytes());
    serde_json::from_slice(&out).unwrap_or(Value::Null)
}

fn plain_json(value: Scalar) -> Value {
    match value {
        Scalar::F32(value) => json!(f64::from(value)),
        Scalar::F64(value) => json!(value),
        other => {
            let wide = other.as_i128().unwrap_or_default();
            i64::try_from(wide)
                .map_or_else(|_| json!(u64::try_from(wide).unwrap_or(u64::MAX)), |wide| json!(wide))
        }
    }
}

/// The steps from one end of a domain to the other, both ends included.
fn length(lo: Scalar, hi: Scalar) -> f64 {
    match (lo.as_i128(), hi.as_i128()) {
        (Some(lo), Some(hi)) => (hi - lo + 1) as f64,
        _ => hi.as_f64() - lo.as_f64(),
    }
}

/// An extent in the type of a dimension, no longer than its domain, nor so long that the last tile leaves the type.
fn extent_scalar(dimension: &PlannedDimension, extent: f64) -> Option<Scalar> {
    let (lo, hi) = dimension.domain?;
    if dimension.datatype.is_float() {
        let extent = Scalar::F64(extent).cast(dimension.datatype).ok()?;
        return (extent.as_f64() > 0.0).then_some(extent);
    }
    let (lo, hi) = (lo.as_i128()?, hi.as_i128()?);
    let count = hi - lo + 1;
    let extent = (extent.ceil() as i128).clamp(1, count);
    let greatest = greatest_of(dimension.datatype);
    // The last tile ends behind the domain.
    let end = lo + (count + extent - 1) / extent * extent - 1;
    let extent = if end > greatest { 1 } else { extent };
    let narrow = u64::try_from(extent).map(Scalar::U64).ok()?;
    let is_time = dimension.datatype.is_datetime() || dimension.datatype.is_time();
    if is_time { i64::try_from(extent).ok().map(Scalar::I64) } else { narrow.cast(dimension.datatype).ok() }
}

fn greatest_of(datatype: Datatype) -> i128 {
    use smalti::PhysicalKind::*;
    match datatype.physical() {
        I8 => i8::MAX.into(),
        I16 => i16::MAX.into(),
        I32 => i32::MAX.into(),
        U8 => u8::MAX.into(),
        U16 => u16::MAX.into(),
        U32 => u32::MAX.into(),
        U64 => u64::MAX.into(),
        _ => i64::MAX.into(),
    }
}

/// The dimension that an option names, and what stands behind the `=`.
fn option_of<'t>(option: &str, text: &'t str, dimensions: &[PlannedDimension]) -> Outcome<(usize, &'t str)> {
    let named = |(idx, dimension): (usize, &PlannedDimension)| {
        let value = text.strip_prefix(dimension.name.as_str())?.strip_prefix('=')?;
        Some((idx, value))
    };
    // Names may hold `=` themselves: the longest name wins.
    let found = dimensions.iter().enumerate().filter_map(named).min_by_key(|(_, value)| value.len());
    found.ok_or_else(|| {
        let known: Vec<&str> = dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
        Failure::usage(format!(
            "{option} {text}: write it like d=..., with one of the dimensions {}",
            known.join(", ")
        ))
    })
}

fn set_domain(dimension: &mut PlannedDimension, text: &str, ends: &str) -> Outcome {
    let wrong = |problem: &str| Failure::usage(format!("--domain {text}: {problem}"));
    let Some((least, greatest)) = dimension.domain else {
        return Err(wrong("string dimensions have no domain"));
    };
    let stored = Dimension {
        name: dimension.name.clone(),
        datatype: dimension.datatype,
        cell_val_num: CellValNum::ONE,
        filters: FilterPipeline::default(),
        domain: dimension.domain,
        tile_extent: None,
    };
    let (lo, hi) = ranges::ends(&stored, ends).map_err(|problem| wrong(&problem))?;
    let (lo, hi) = (lo.unwrap_or(least), hi.unwrap_or(greatest));
    if lo.ordinal() > hi.ordinal() {
        return Err(wrong("the ends are inverted"));
    }
    let domain = smalti::Extent::Num { lo: lo.ordinal(), hi: hi.ordinal() };
    let found = smalti::Extent::Num { lo: least.ordinal(), hi: greatest.ordinal() };
    // Row numbers have no values of the file.
    if dimension.name != ROW && !domain.as_ref().covers(found.as_ref()) {
        return Err(Failure::invalid(format!(
            "--domain {text}: the files hold {} of {:?}; give a domain that holds these",
            stored.shown(found.as_ref()),
            dimension.name
        )));
    }
    dimension.domain = Some((lo, hi));
    dimension.reason = "the domain as asked".into();
    Ok(())
}

fn set_tile(dimension: &mut PlannedDimension, text: &str, value: &str) -> Outcome {
    let wrong = || Failure::usage(format!("--tile {text}: an extent is a number of steps greater than 0"));
    if dimension.domain.is_none() {
        return Err(Failure::usage(format!("--tile {text}: string dimensions have no tiles")));
    }
    let extent = if dimension.datatype.is_float() {
        Scalar::F64(
            value.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0).ok_or_else(wrong)?,
        )
    } else {
        Scalar::U64(value.parse().ok().filter(|value| *value > 0).ok_or_else(wrong)?)
    };
    let is_time = dimension.datatype.is_datetime() || dimension.datatype.is_time();
    dimension.tile =
        Some(if is_time { extent } else { extent.cast(dimension.datatype).map_err(|_| wrong())? });
    Ok(())
}

impl PlannedDimension {
    /// A dimension that counts positions.
    pub(super) fn of_axis(name: String, len: usize) -> PlannedDimension {
        let hi = Scalar::U64(len.saturating_sub(1) as u64);
        let domain = Some((Scalar::U64(0), hi));
        PlannedDimension {
            name,
            datatype: Datatype::UInt64,
            domain,
            tile: None,
            filters: Chosen::default(),
            reason: format!("{len} positions on the axis"),
        }
    }
}
