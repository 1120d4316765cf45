//! JSON as a schema.

use super::{SchemaFile, filters};
use crate::json::{CellSeed, ParsedCell, hex};
use serde::de::DeserializeSeed;
use serde_json::Value;
use smalti_format::{
    ArraySchema, Attribute, CurrentDomain, DataOrder, Dimension, DimensionLabel, Enumeration, Version,
    new_fill_value,
};
use smalti_types::{
    ArrayType, CellValNum, Datatype, Error, Extent, Filter, FilterPipeline, Layout, Result, Scalar,
};

/// The reference's default capacity: cells in a tile of a sparse array.
const DEFAULT_CAPACITY: u64 = 10_000;

const SCHEMA_KEYS: &[&str] = &[
    "array_type",
    "version",
    "capacity",
    "cell_order",
    "tile_order",
    "allows_dups",
    "coords_filters",
    "offsets_filters",
    "validity_filters",
    "dims",
    "attrs",
    "enumerations",
    "current_domain",
    "labels",
];

pub(super) fn schema(value: &Value) -> Result<SchemaFile> {
    let root = Place { path: "schema".into(), value };
    root.only_keys(SCHEMA_KEYS)?;
    let version = match root.get("version") {
        None => Version::DEFAULT,
        Some(version) => {
            Version::new(version.integer()?).map_err(|error| wrong(&version.path, error.message()))?
        }
    };
    let array_type = root.required("array_type")?;
    let array_type = match array_type.text()? {
        "dense" => ArrayType::Dense,
        "sparse" => ArrayType::Sparse,
        other => {
            return Err(wrong(&array_type.path, &format!("{other:?} is neither \"dense\" nor \"sparse\"")));
        }
    };
    let dimensions = root.required("dims")?.items()?.iter().map(dimension).collect::<Result<Vec<_>>>()?;
    let attributes = root.required("attrs")?.items()?.iter().map(attribute).collect::<Result<Vec<_>>>()?;
    let enumerations = match root.get("enumerations") {
        None => Vec::new(),
        Some(list) => list.items()?.iter().map(enumeration).collect::<Result<Vec<_>>>()?,
    };
    if let Some(missing) = attributes
        .iter()
        .filter_map(|attribute| attribute.enumeration.as_ref())
        .find(|name| enumerations.iter().all(|enumeration| &enumeration.name != *name))
    {
        return Err(Error::invalid(format!("schema.enumerations: the enumeration {missing:?} is missing")));
    }
    let mut schema = ArraySchema {
        version,
        allows_dups: root.get("allows_dups").map_or(Ok(false), |flag| flag.flag())?,
        array_type,
        tile_order: layout(root.get("tile_order"))?,
        cell_order: layout(root.get("cell_order"))?,
        capacity: root.get("capacity").map_or(Ok(DEFAULT_CAPACITY), |capacity| capacity.integer())?,
        coords_filters: pipeline_or(root.get("coords_filters"), Filter::Zstd { level: -1 })?,
        offsets_filters: pipeline_or(root.get("offsets_filters"), Filter::Zstd { level: -1 })?,
        validity_filters: pipeline_or(root.get("validity_filters"), Filter::Rle { level: -1 })?,
        current_domain: current_domain(root.get("current_domain"), &dimensions)?,
        dimensions,
        attributes,
        dimension_labels: Vec::new(),
        enumerations: Vec::new(),
    };
    schema.fill_absent_extents();
    let labels = match root.get("labels") {
        None => Vec::new(),
        Some(list) => list.items()?.iter().map(|one| label(one, &mut schema)).collect::<Result<_>>()?,
    };
    Ok(SchemaFile { schema, enumerations, labels })
}

pub(super) fn lone_attribute(value: &Value) -> Result<Attribute> {
    attribute(&Place { path: "attribute".into(), value })
}

pub(super) fn lone_enumeration(value: &Value) -> Result<Enumeration> {
    enumeration(&Place { path: "enumeration".into(), value })
}

fn dimension(place: &Place<'_>) -> Result<Dimension> {
    place.only_keys(&["name", "type", "domain", "tile", "filters", "cell_val_num"])?;
    let datatype = place.required("type")?.datatype()?;
    let domain = match place.get("domain") {
        None => None,
        Some(domain) => match domain.unwrapped().items()?.as_slice() {
            [lo, hi] => Some((lo.scalar(datatype)?, hi.scalar(datatype)?)),
            _ => return Err(wrong(&domain.path, "a domain is a list of the lowest and the highest value")),
        },
    };
    let tile_extent = match place.get("tile") {
        None => None,
        Some(tile) => match tile.unwrapped() {
            list if list.value.is_array() => {
                list.items()?.first().map(|first| first.count(datatype)).transpose()?
            }
            value => Some(value.count(datatype)?),
        },
    };
    Ok(Dimension {
        name: place.required("name")?.text()?.into(),
        datatype,
        cell_val_num: if datatype.is_string() { CellValNum::Var } else { CellValNum::ONE },
        filters: place
            .get("filters")
            .map_or(Ok(FilterPipeline::default()), |filters| filters::from_json(&filters))?,
        domain,
        tile_extent,
    })
}

fn attribute(place: &Place<'_>) -> Result<Attribute> {
    place.only_keys(&[
        "name",
        "type",
        "cell_val_num",
        "nullable",
        "filters",
        "fill_valid",
        "fill_hex",
        "order",
        "enumeration",
    ])?;
    let datatype = place.required("type")?.datatype()?;
    let cell_val_num = cell_val_num(place.get("cell_val_num"), datatype)?;
    let fill_value = match place.get("fill_hex") {
        None => new_fill_value(datatype, cell_val_num)
            .map_err(|error| wrong(&format!("{}.cell_val_num", place.path), error.message()))?,
        Some(fill) => hex::decode(fill.text()?)
            .ok_or_else(|| wrong(&fill.path, "a fill value is pairs of hexadecimal digits"))?,
    };
    let order = place.get("order").map_or(Ok(DataOrder::Unordered), |order| data_order(&order))?;
    Ok(Attribute {
        name: place.required("name")?.text()?.into(),
        datatype,
        cell_val_num,
        filters: pipeline_or(place.get("filters"), Filter::Zstd { level: -1 })?,
        fill_value,
        nullable: place.get("nullable").map_or(Ok(false), |flag| flag.flag())?,
        fill_valid: place.get("fill_valid").map_or(Ok(false), |flag| flag.flag())?,
        order,
        enumeration: place.get("enumeration").map(|name| name.text().map(String::from)).transpose()?,
    })
}

fn enumeration(place: &Place<'_>) -> Result<Enumeration> {
    place.only_keys(&["name", "type", "cell_val_num", "ordered", "values", "bits"])?;
    let datatype = place.required("type")?.datatype()?;
    let cell_val_num = cell_val_num(place.get("cell_val_num"), datatype)?;
    let mut enumeration = Enumeration::new(place.required("name")?.text()?, datatype, cell_val_num);
    enumeration.is_ordered = place.get("ordered").map_or(Ok(false), |flag| flag.flag())?;
    for element in place.required("values")?.items()? {
        let mut bytes = Vec::new();
        element.cell(datatype, cell_val_num, &mut bytes)?;
        enumeration.push(&bytes).map_err(|error| wrong(&element.path, error.message()))?;
    }
    Ok(enumeration)
}

fn data_order(place: &Place<'_>) -> Result<DataOrder> {
    match place.text()? {
        "unordered" => Ok(DataOrder::Unordered),
        "increasing" => Ok(DataOrder::Increasing),
        "decreasing" => Ok(DataOrder::Decreasing),
        other => Err(wrong(&place.path, &format!("no order of data is called {other:?}"))),
    }
}

/// Adds a label to a schema; the schema of its array. The place of that array follows from the order of the labels.
fn label(place: &Place<'_>, schema: &mut ArraySchema) -> Result<ArraySchema> {
    place.only_keys(&["name", "dim", "order", "type", "attr", "uri", "tile", "filters"])?;
    let dim = place.required("dim")?;
    let dim: u32 = match dim.value.as_str() {
        None => dim.integer()?,
        Some(name) => schema
            .dimension(name)
            .and_then(|(idx, _)| u32::try_from(idx).ok())
            .ok_or_else(|| wrong(&dim.path, &format!("there is no dimension {name:?}")))?,
    };
    let datatype = place.required("type")?.datatype()?;
    let order = place.get("order").map_or(Ok(DataOrder::Increasing), |order| data_order(&order))?;
    let mut label = DimensionLabel::new(place.required("name")?.text()?, dim, datatype, order);
    if let Some(attribute) = place.get("attr") {
        label.attribute = attribute.text()?.into();
    }
    let mut array = schema.label_array(&label).map_err(|error| wrong(&place.path, error.message()))?;
    if let Some(tile) = place.get("tile") {
        array.dimensions[0].tile_extent = Some(tile.count(array.dimensions[0].datatype)?);
    }
    if let Some(filters) = place.get("filters") {
        array.attributes[0].filters = filters::from_json(&filters)?;
    }
    schema.add_label(label);
    Ok(array)
}

fn current_domain(place: Option<Place<'_>>, dimensions: &[Dimension]) -> Result<CurrentDomain> {
    let Some(place) = place else { return Ok(CurrentDomain::Empty) };
    let items = place.items()?;
    if items.len() != dimensions.len() {
        return Err(wrong(
            &place.path,
            &format!("{} ranges for {} dimensions", items.len(), dimensions.len()),
        ));
    }
    let extent = |(item, dimension): (&Place<'_>, &Dimension)| {
        let ends = item.unwrapped();
        let ends = ends.items()?;
        let [lo, hi] = ends.as_slice() else {
            return Err(wrong(&item.path, "a range is a list of two values"));
        };
        if !dimension.datatype.is_string() {
            let (lo, hi) = (lo.scalar(dimension.datatype)?, hi.scalar(dimension.datatype)?);
            // For its checks only: it widens a zero end to both zeros, but here the bits are kept.
            Extent::between(lo, hi)?;
            return Ok(Extent::Num { lo: lo.ordinal(), hi: hi.ordinal() });
        }
        let (mut from, mut to) = (Vec::new(), Vec::new());
        lo.cell(dimension.datatype, CellValNum::Var, &mut from)?;
        hi.cell(dimension.datatype, CellValNum::Var, &mut to)?;
        Extent::between_strings(&from, &to)
    };
    items.iter().zip(dimensions).map(extent).collect::<Result<_>>().map(CurrentDomain::Rectangle)
}

fn layout(place: Option<Place<'_>>) -> Result<Layout> {
    let Some(place) = place else { return Ok(Layout::RowMajor) };
    match place.text()? {
        "row-major" => Ok(Layout::RowMajor),
        "col-major" => Ok(Layout::ColMajor),
        "hilbert" => Ok(Layout::Hilbert),
        other => Err(wrong(&place.path, &format!("{other:?} is none of row-major, col-major and hilbert"))),
    }
}

/// Text has any length unless it says otherwise.
fn cell_val_num(place: Option<Place<'_>>, datatype: Datatype) -> Result<CellValNum> {
    let Some(place) = place else {
        return Ok(if datatype.is_string() { CellValNum::Var } else { CellValNum::ONE });
    };
    if place.value.as_str() == Some("var") {
        return Ok(CellValNum::Var);
    }
    match CellValNum::from_raw(place.integer()?) {
        Some(CellValNum::Var) => {
            Err(wrong(&place.path, "4294967295 is what files say for any number of values; write \"var\""))
        }
        Some(fixed) => Ok(fixed),
        None => Err(wrong(&place.path, "a cell has at least one value")),
    }
}

fn pipeline_or(place: Option<Place<'_>>, default: Filter) -> Result<FilterPipeline> {
    place.map_or_else(|| Ok(FilterPipeline::new([default])), |place| filters::from_json(&place))
}

/// A value in the text with its path, for messages.
pub(super) struct Place<'a> {
    pub(super) path: String,
    pub(super) value: &'a Value,
}

pub(super) fn wrong(path: &str, problem: &str) -> Error {
    Error::invalid(format!("{path}: {problem}"))
}

impl<'a> Place<'a> {
    /// The value of a key; null counts as left out.
    pub(super) fn get(&self, key: &str) -> Option<Place<'a>> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(Place { path: format!("{}.{key}", self.path), value })
    }

    pub(super) fn required(&self, key: &str) -> Result<Place<'a>> {
        self.get(key).ok_or_else(|| wrong(&self.path, &format!("{key:?} is missing")))
    }

    /// Misspelt keys would silently take defaults.
    pub(super) fn only_keys(&self, known: &[&str]) -> Result<()> {
        if self.value.is_string() {
            return Ok(());
        }
        let object = self.value.as_object().ok_or_else(|| wrong(&self.path, "an object is expected"))?;
        match object.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => {
                Err(wrong(&self.path, &format!("{key:?} is no key here; there are {}", known.join(", "))))
            }
            None => Ok(()),
        }
    }

    pub(super) fn items(&self) -> Result<Vec<Place<'a>>> {
        let items = self.value.as_array().ok_or_else(|| wrong(&self.path, "a list is expected"))?;
        let place = |(idx, value)| Place { path: format!("{}[{idx}]", self.path), value };
        Ok(items.iter().enumerate().map(place).collect())
    }

    /// The values of `{"values": [...], "bits": [...]}`, a notation of floats that is accepted beside plain lists.
    fn unwrapped(&self) -> Place<'a> {
        self.get("values").unwrap_or(Place { path: self.path.clone(), value: self.value })
    }

    pub(super) fn text(&self) -> Result<&'a str> {
        self.value.as_str().ok_or_else(|| wrong(&self.path, &format!("{} is no string", self.value)))
    }

    pub(super) fn flag(&self) -> Result<bool> {
        match (self.value.as_bool(), self.value.as_u64()) {
            (Some(flag), _) => Ok(flag),
            (None, Some(number @ 0..=1)) => Ok(number == 1),
            _ => Err(wrong(&self.path, &format!("{} is neither true nor false", self.value))),
        }
    }

    pub(super) fn integer<T: TryFrom<i128>>(&self) -> Result<T> {
        let wide = self.value.as_i64().map(i128::from).or_else(|| self.value.as_u64().map(i128::from));
        wide.and_then(|wide| T::try_from(wide).ok())
            .ok_or_else(|| wrong(&self.path, &format!("{} is no integer in range", self.value)))
    }

    pub(super) fn float(&self) -> Result<f64> {
        self.value.as_f64().ok_or_else(|| wrong(&self.path, &format!("{} is no number", self.value)))
    }

    pub(super) fn datatype(&self) -> Result<Datatype> {
        let name = self.text()?;
        Datatype::from_name(name).ok_or_else(|| {
            let names: Vec<&str> = Datatype::ALL.iter().map(|datatype| datatype.name()).collect();
            wrong(&self.path, &format!("no datatype is called {name:?}; there are {}", names.join(", ")))
        })
    }

    /// A coordinate.
    fn scalar(&self, datatype: Datatype) -> Result<Scalar> {
        let mut bytes = Vec::new();
        self.cell(datatype, CellValNum::ONE, &mut bytes)?;
        Scalar::read(datatype, &bytes)
    }

    /// A number of steps: a plain number for dates and times too.
    fn count(&self, datatype: Datatype) -> Result<Scalar> {
        if datatype.is_datetime() || datatype.is_time() {
            return self.integer().map(Scalar::I64);
        }
        self.scalar(datatype)
    }

    /// Appends the bytes of a cell.
    fn cell(&self, datatype: Datatype, cell_val_num: CellValNum, out: &mut Vec<u8>) -> Result<()> {
        let parsed = CellSeed { datatype, cell_val_num, out }
            .deserialize(self.value)
            .map_err(|error| wrong(&self.path, &error.to_string()))?;
        match parsed {
            ParsedCell::Value => Ok(()),
            ParsedCell::Null | ParsedCell::Code(_) => Err(wrong(&self.path, "a value is expected")),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::json::{attribute_from_json, enumeration_from_json, schema_from_json, schema_to_json};
    use serde_json::{Value, json};
    use smalti_types::{CellValNum, Filter, FilterPipeline};

    #[test]
    fn what_is_left_out_takes_the_references_defaults() {
        let text = r#"{"array_type": "sparse", "dims": [{"name": "d", "type": "INT32", "domain": [1, 4], "tile": 2}],
            "attrs": [{"name": "a", "type": "FLOAT64"}, {"name": "b", "type": "INT8", "cell_val_num": 2}]}"#;
        let file = schema_from_json(text).unwrap();
        let zstd = json!({"max_chunk_size": 65536, "filters": [{"filter": "zstd", "level": -1}]});
        assert_eq!(
            schema_to_json(&file.schema, &file.enumerations),
            json!({
                "array_type": "sparse", "version": 22, "capacity": 10000, "cell_order": "row-major",
                "tile_order": "row-major", "allows_dups": false, "coords_filters": zstd, "offsets_filters": zstd,
                "validity_filters": {"max_chunk_size": 65536, "filters": [{"filter": "rle", "level": -1}]},
                "dims": [{"name": "d", "type": "INT32", "domain": [1, 4], "tile": 2}],
                "attrs": [
                    {"name": "a", "type": "FLOAT64", "cell_val_num": 1, "filters": zstd, "fill_hex": "000000000000f87f"},
                    {"name": "b", "type": "INT8", "cell_val_num": 2, "filters": zstd, "fill_hex": "8080"},
                ],
            })
        );
    }

    #[test]
    fn strings_have_any_length_and_attributes_are_compressed_unless_the_schema_says_otherwise() {
        let attribute = |text: &str| attribute_from_json(text).unwrap();
        for datatype in
            ["STRING_ASCII", "STRING_UTF8", "STRING_UTF16", "STRING_UTF32", "STRING_UCS2", "STRING_UCS4"]
        {
            let text = format!(r#"{{"name": "a", "type": "{datatype}"}}"#);
            assert_eq!(attribute(&text).cell_val_num, CellValNum::Var, "{datatype}");
            let text = format!(r#"{{"name": "e", "type": "{datatype}", "values": []}}"#);
            assert_eq!(enumeration_from_json(&text).unwrap().cell_val_num, CellValNum::Var, "{datatype}");
        }
        let one = r#"{"name": "a", "type": "STRING_UTF8", "cell_val_num": 1}"#;
        assert_eq!(attribute(one).cell_val_num, CellValNum::ONE);
        assert_eq!(attribute(r#"{"name": "a", "type": "CHAR"}"#).cell_val_num, CellValNum::ONE);
        assert_eq!(attribute(one).filters, FilterPipeline::new([Filter::Zstd { level: -1 }]));
        let plain = r#"{"name": "a", "type": "INT8", "filters": []}"#;
        assert_eq!(attribute(plain).filters, FilterPipeline::default());
    }

    #[test]
    fn a_full_schema_comes_back() {
        let value: Value = json!({
            "array_type": "dense", "version": 22, "capacity": 7, "cell_order": "col-major",
            "tile_order": "row-major", "allows_dups": false,
            "coords_filters": {"max_chunk_size": 1024, "filters": [{"filter": "none"}]},
            "offsets_filters": {"max_chunk_size": 65536, "filters": [{"filter": "positive_delta", "window": 48}]},
            "validity_filters": {"max_chunk_size": 65536, "filters": []},
            "dims": [
                {"name": "t", "type": "DATETIME_DAY", "domain": [-4, 5], "tile": 3,
                 "filters": {"max_chunk_size": 65536, "filters": [
                    {"filter": "double_delta", "level": -1, "reinterpret": "ANY"},
                    {"filter": "delta", "level": -1, "reinterpret": "UINT16"}]}},
                {"name": "u", "type": "UINT64", "domain": [0, 18446744073709550615_u64], "tile": 1000},
                {"name": "f", "type": "FLOAT64", "domain": [-0.0, 1e300], "tile": 0.1},
                {"name": "s", "type": "STRING_ASCII", "domain": null, "tile": null},
            ],
            "attrs": [
                {"name": "", "type": "INT32", "cell_val_num": 1, "nullable": true,
                 "filters": {"max_chunk_size": 65536, "filters": [
                    {"filter": "scale_float", "bytewidth": 4, "factor": 0.5, "offset": 0.0},
                    {"filter": "webp", "quality": 50.0, "format": 1, "lossless": 0},
                    {"filter": "bit_width_reduction", "window": 64}]},
                 "fill_valid": true, "fill_hex": "fbffffff", "enumeration": "colors"},
                {"name": "v", "type": "STRING_UTF8", "cell_val_num": "var",
                 "filters": {"max_chunk_size": 65536, "filters": []}, "fill_hex": "00"},
            ],
            "enumerations": [
                {"name": "colors", "type": "STRING_ASCII", "cell_val_num": "var", "ordered": false,
                 "values": ["red", "", "blue"]},
                {"name": "pairs", "type": "FLOAT64", "cell_val_num": 2, "ordered": true,
                 "values": [[1.0, 2.0], [3.5, -0.0]]},
            ],
            "current_domain": [[-4, 0], [5, 6], [0.0, 60.0], ["a", "z"]],
        });
        let file = schema_from_json(&value.to_string()).unwrap();
        let written = schema_to_json(&file.schema, &file.enumerations);
        assert_eq!(written.to_string(), value.to_string());
    }

    #[test]
    fn wrong_schemas_are_named_by_their_place() {
        let schema = |dims: &str, attrs: &str| {
            format!(r#"{{"array_type": "dense", "dims": [{dims}], "attrs": [{attrs}]}}"#)
        };
        let dim = r#"{"name": "d", "type": "INT8", "domain": [1, 4]}"#;
        for (text, words) in [
            ("{", "no JSON"),
            (
                r#"{"array_type": "dense", "array_type": "sparse"}"#,
                "the key \"array_type\" is given twice at line 1",
            ),
            (
                &schema(dim, r#"{"name": "a", "type": "INT8", "cell_val_num": 4294967295}"#),
                "attrs[0].cell_val_num: 4294967295 is what",
            ),
            (
                &schema(dim, r#"{"name": "a", "type": "INT8", "cell_val_num": 2147483648}"#),
                "2147483648 bytes",
            ),
            ("[]", "schema: an object is expected"),
            (r#"{"dims": []}"#, "schema: \"array_type\" is missing"),
            (
                &schema(r#"{"name": "d", "type": "INT8", "domain": [1, 400]}"#, ""),
                "schema.dims[0].domain[1]: 400 is no",
            ),
            (
                &schema(r#"{"name": "d", "type": "INT9"}"#, ""),
                "schema.dims[0].type: no datatype is called \"INT9\"; there are INT32, INT64,",
            ),
            (&schema(dim, r#"{"name": "a", "type": "INT8", "fillhex": "00"}"#), "\"fillhex\" is no key"),
            (&schema(dim, r#"{"name": "a", "type": "INT8", "fill_hex": "0"}"#), "pairs of hexadecimal"),
            (
                &schema(dim, r#"{"name": "a", "type": "INT8", "filters": ["zstt"]}"#),
                "filters[0]: no filter is called \"zstt\"",
            ),
            (
                &schema(dim, r#"{"name": "a", "type": "INT8", "filters": [{"filter": "zstd", "levle": 3}]}"#),
                "\"levle\"",
            ),
            (
                &schema(dim, r#"{"name": "a", "type": "INT8", "enumeration": "e"}"#),
                "the enumeration \"e\" is missing",
            ),
            (&schema(dim, r#"{"name": "a", "type": "INT8", "cell_val_num": 0}"#), "at least one value"),
        ] {
            let error = schema_from_json(text).unwrap_err();
            assert!(error.message().contains(words), "{text}: {error}");
        }
    }
}
