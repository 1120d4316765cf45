//! One array of the corpus with the values it holds.

use crate::archive::Archive;
use serde_json::Value;
use smalti_types::{
    CellValNum, Datatype, EncryptionKey, Filter, FilterPipeline, FloatScale, PhysicalKind, ScaleWidth,
    WebpFormat,
};
use std::num::NonZeroU32;

pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) version: u64,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) offsets_pipeline: FilterPipeline,
    pub(crate) validity_pipeline: FilterPipeline,
    pub(crate) key: Option<EncryptionKey>,
    fragment: String,
    read: &'static str,
    dimensions: Vec<Dimension>,
    expected: Value,
}

pub(crate) struct Attribute {
    pub(crate) name: String,
    pub(crate) datatype: Datatype,
    pub(crate) cell_val_num: CellValNum,
    pub(crate) nullable: bool,
    pub(crate) pipeline: FilterPipeline,
}

struct Dimension {
    cell_count: usize,
    extent: usize,
}

/// The value of one cell as the corpus states it.
#[derive(Debug)]
pub(crate) struct Expected {
    value: Value,
    bits: Option<Value>,
}

impl Case {
    /// The case, if it is a dense array in row-major order that one write filled.
    pub(crate) fn of_archive(archive: &Archive, name: &str) -> Option<Case> {
        let expected: Value = serde_json::from_slice(archive.file(&format!("{name}/expected.json"))).unwrap();
        let schema = &expected["schema"];
        let operations = expected["operations"].as_array()?;
        let encrypted = expected["encryption"].is_object();
        let writes: Vec<_> = operations.iter().filter(|op| op["op"] == "write").collect();
        if schema["array_type"] != "dense"
            || schema["cell_order"] != "row-major"
            || schema["tile_order"] != "row-major"
            || (!encrypted && (writes.len() != 1 || operations.len() != 2))
            || name.contains("dim_")
            || name.contains("special_names")
        {
            return None;
        }
        let mut dimensions = Vec::new();
        for (dimension, subarray) in schema["dims"].as_array()?.iter().zip(writes[0]["subarray"].as_array()?)
        {
            if dimension["domain"] != *subarray {
                return None;
            }
            let (low, high) = (dimension["domain"][0].as_i64()?, dimension["domain"][1].as_i64()?);
            dimensions.push(Dimension {
                cell_count: usize::try_from(high.checked_sub(low)?).ok()? + 1,
                extent: dimension["tile"].as_u64()? as usize,
            });
        }
        // Encrypted cases go on after the first write; what it wrote is what a read at its time gives.
        let first = writes[0]["fragments"][0].as_str()?;
        let metadata_files =
            archive.find(&format!("{name}/array/"), &format!("{first}/__fragment_metadata.tdb"));
        let [metadata_file] = metadata_files[..] else { return None };
        let extents: Vec<_> = dimensions.iter().map(|dimension| dimension.extent).collect();
        let attributes = schema["attrs"].as_array()?.iter().map(|json| attribute(json, &extents)).collect();
        Some(Case {
            name: name.to_owned(),
            version: expected["format_version"].as_u64()?,
            attributes,
            offsets_pipeline: pipeline(&schema["offsets_filters"], &extents),
            validity_pipeline: pipeline(&schema["validity_filters"], &extents),
            fragment: metadata_file.strip_suffix("/__fragment_metadata.tdb")?.to_owned(),
            dimensions,
            key: expected["encryption"]["key"]
                .as_str()
                .map(|key| EncryptionKey::new(key.as_bytes()).unwrap()),
            read: if encrypted { "at_t1" } else { "full" },
            expected,
        })
    }

    pub(crate) fn data_file(&self, index: usize, attribute: &str, ending: &str) -> String {
        match self.version {
            9.. => format!("{}/a{index}{ending}.tdb", self.fragment),
            _ => format!("{}/{attribute}{ending}.tdb", self.fragment),
        }
    }

    pub(crate) fn cells_per_tile(&self) -> usize {
        self.dimensions.iter().map(|dimension| dimension.extent).product()
    }

    /// Takes cells out of tiles in the order of a row-major read of the whole array.
    pub(crate) fn in_row_major_order<Tile, Cell>(
        &self,
        tiles: &[Tile],
        cell: impl Fn(&Tile, usize) -> Cell,
    ) -> Vec<Cell> {
        let cell_count: usize = self.dimensions.iter().map(|dimension| dimension.cell_count).product();
        let place = |index: usize| {
            let (mut rest, mut tile_stride, mut cell_stride) = (index, 1, 1);
            let (mut tile_idx, mut cell_idx) = (0, 0);
            for dimension in self.dimensions.iter().rev() {
                let coordinate = rest % dimension.cell_count;
                rest /= dimension.cell_count;
                tile_idx += coordinate / dimension.extent * tile_stride;
                cell_idx += coordinate % dimension.extent * cell_stride;
                tile_stride *= dimension.cell_count.div_ceil(dimension.extent);
                cell_stride *= dimension.extent;
            }
            cell(&tiles[tile_idx], cell_idx)
        };
        (0..cell_count).map(place).collect()
    }

    /// The values of a full read, if the corpus has one.
    pub(crate) fn expected(&self, attribute: &Attribute) -> Option<Vec<Expected>> {
        let reads = self.expected["reads"].as_array()?;
        let full = |read: &&Value| {
            let whole = read["name"] == self.read
                || read["name"].as_str().is_some_and(|name| name == format!("only_{}", attribute.name));
            whole && read["layout"] == "row" && read["columns"].is_object()
        };
        let column = reads.iter().filter(full).find_map(|read| read["columns"].get(&attribute.name))?;
        let column = match column["same_as"].as_str() {
            Some(place) => {
                let (read, name) = place.split_once('/')?;
                &reads.iter().find(|candidate| candidate["name"] == read)?["columns"][name]
            }
            None => column,
        };
        let values = column["values"].as_array()?;
        let bits = column["bits"].as_array();
        let cell = |(index, value): (usize, &Value)| Expected {
            value: value.clone(),
            bits: bits.map(|bits| bits[index].clone()),
        };
        Some(values.iter().enumerate().map(cell).collect())
    }
}

impl Expected {
    /// Whether the bytes of a cell, `None` for null, are the stated value.
    pub(crate) fn matches(&self, found: Option<&Vec<u8>>, datatype: Datatype) -> bool {
        let Some(bytes) = found else { return self.value.is_null() };
        let text = |value: &Value| match value {
            Value::String(text) => Some(text.as_bytes().to_vec()),
            Value::Object(object) => Some(unhex(object.get("hex")?.as_str()?)),
            _ => None,
        };
        if let (PhysicalKind::U8, Some(expected)) = (datatype.physical(), text(&self.value)) {
            return *bytes == expected;
        }
        let list = |value: &Value| match value {
            Value::Array(values) => values.clone(),
            value => vec![value.clone()],
        };
        let (values, bits) = (list(&self.value), self.bits.as_ref().map(list));
        let found: Vec<_> = bytes.chunks(datatype.byte_len()).collect();
        found.len() == values.len()
            && found.iter().zip(&values).enumerate().all(|(index, (found, value))| {
                let bits = bits.as_ref().and_then(|bits| bits.get(index)?.as_str());
                match bits {
                    Some(bits) => {
                        let mut expected = unhex(bits);
                        expected.reverse();
                        **found == expected
                    }
                    None => number_matches(found, value, datatype),
                }
            })
    }
}

fn number_matches(found: &[u8], value: &Value, datatype: Datatype) -> bool {
    let scalar = smalti_types::Scalar::read(datatype, found).unwrap();
    if datatype.is_float() {
        let (found, expected) = (scalar.as_f64(), value.as_f64().unwrap_or(f64::NAN));
        // The parser of the corpus rounds the last bit of some numbers.
        return (found - expected).abs() <= expected.abs() * 1e-15;
    }
    let expected = value.as_i64().map(i128::from).or(value.as_u64().map(i128::from));
    let expected = expected.or(value.as_bool().map(i128::from));
    scalar.as_i128() == expected
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

pub(crate) fn attribute(json: &Value, extents: &[usize]) -> Attribute {
    Attribute {
        name: json["name"].as_str().unwrap().to_owned(),
        datatype: Datatype::from_name(json["type"].as_str().unwrap()).unwrap(),
        cell_val_num: match json["cell_val_num"].as_u64() {
            Some(count) => CellValNum::Fixed(NonZeroU32::new(count as u32).unwrap()),
            None => CellValNum::Var,
        },
        nullable: json["nullable"] == true,
        pipeline: pipeline(&json["filters"], extents),
    }
}

pub(crate) fn pipeline(json: &Value, extents: &[usize]) -> FilterPipeline {
    let Some(filters) = json["filters"].as_array() else { return FilterPipeline::default() };
    FilterPipeline {
        max_chunk_size: json["max_chunk_size"].as_u64().unwrap() as u32,
        filters: filters.iter().map(|json| filter(json, extents)).collect(),
    }
}

fn filter(json: &Value, extents: &[usize]) -> Filter {
    let level = json["level"].as_i64().unwrap_or(-1) as i32;
    let max_window = json["window"].as_u64().unwrap_or(0) as u32;
    let reinterpret =
        json["reinterpret"].as_str().filter(|&name| name != "ANY").and_then(Datatype::from_name);
    match json["filter"].as_str().unwrap() {
        "none" => Filter::None,
        "gzip" => Filter::Gzip { level },
        "zstd" => Filter::Zstd { level },
        "lz4" => Filter::Lz4 { level },
        "rle" => Filter::Rle { level },
        "bzip2" => Filter::Bzip2 { level },
        "double_delta" => Filter::DoubleDelta { level, reinterpret },
        "delta" => Filter::Delta { level, reinterpret },
        "bit_width_reduction" => Filter::BitWidthReduction { max_window },
        "positive_delta" => Filter::PositiveDelta { max_window },
        "bitshuffle" => Filter::Bitshuffle,
        "byteshuffle" => Filter::Byteshuffle,
        "md5" => Filter::Md5,
        "sha256" => Filter::Sha256,
        "dictionary" => Filter::Dictionary { level },
        "xor" => Filter::Xor,
        "scale_float" => Filter::ScaleFloat(FloatScale {
            factor: json["factor"].as_f64().unwrap(),
            offset: json["offset"].as_f64().unwrap(),
            width: match json["bytewidth"].as_u64().unwrap() {
                1 => ScaleWidth::One,
                2 => ScaleWidth::Two,
                4 => ScaleWidth::Four,
                _ => ScaleWidth::Eight,
            },
        }),
        "webp" => Filter::Webp {
            quality: json["quality"].as_f64().unwrap() as f32,
            format: WebpFormat::from_tag(json["format"].as_u64().unwrap() as u8).unwrap(),
            lossless: json["lossless"] == 1,
            y_extent: extents[0] as u16,
            x_extent: extents[1] as u16,
        },
        other => panic!("the corpus has a filter {other}"),
    }
}
