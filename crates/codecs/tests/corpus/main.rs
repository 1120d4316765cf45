//! Decodes data files that releases of the reference wrote, in every format version, and compares the values with those
//! that the corpus states. Covers dense arrays that one write filled: their tiles lie back to back in the data files.

mod archive;
mod case;

use archive::Archive;
use case::Case;
use smalti_codecs::{
    Codec, CodecRules, Encryption, FieldKind, PlainLayout, Scratch, filtered_tile_byte_len, fuzz,
};
use smalti_types::CellValNum;
use std::collections::BTreeMap;

fn rules_of_version(version: u64) -> CodecRules {
    CodecRules {
        written_chunk_byte_len: None,
        whole_cells_per_chunk: version >= 11,
        typed_chain: version >= 20,
        rle_folds_ascii: version >= 12,
        dictionary_folds_ascii: version >= 13,
        folds_utf8: version >= 17,
        compares_digests: true,
    }
}

/// The tiles of a file, decoded one after the other.
fn tiles(codec: &Codec, mut file: &[u8], tile_byte_len: Option<usize>) -> Vec<Vec<u8>> {
    let mut scratch = Scratch::new();
    let mut tiles = Vec::new();
    while !file.is_empty() {
        let (filtered, rest) = file.split_at(filtered_tile_byte_len(file).unwrap());
        let byte_len = codec.decoded_len(filtered, 1 << 26).unwrap();
        assert_eq!(byte_len, tile_byte_len.unwrap_or(byte_len));
        let mut tile = vec![0xee; byte_len];
        codec.decode_into(filtered, &mut tile, &mut scratch).unwrap();
        if codec.is_plain() {
            let layout =
                PlainLayout::new(filtered.first_chunk().unwrap(), byte_len as u64, filtered.len() as u64);
            if let Some(layout) = layout.unwrap() {
                let runs = layout.runs(0..byte_len as u64);
                let read: Vec<u8> = runs
                    .flat_map(|run| &filtered[run.filtered_byte_offset as usize..][..run.byte_len as usize])
                    .copied()
                    .collect();
                assert_eq!(read, tile);
            }
        }
        // What we write must read back as the same bytes (lossy filters: as the same bytes once decoded).
        let mut again = Vec::new();
        if !codec.folds_offsets() {
            match codec.encode(&tile, &mut again, &mut scratch) {
                Ok(()) => {
                    let mut second = vec![0; byte_len];
                    codec.decode_into(&again, &mut second, &mut scratch).unwrap();
                    if !format!("{codec:?}").contains("webp") {
                        assert!(tile == second, "{codec:?} does not give back what it was given");
                    }
                }
                // Old releases let double deltas overflow and still read them back.
                Err(error) => {
                    assert!(error.to_string().contains("do not fit in a signed 64-bit integer"), "{error}")
                }
            }
        }
        tiles.push(tile);
        file = rest;
    }
    tiles
}

/// The tiles of strings that were encoded with their offsets.
fn string_tiles(
    codec: &Codec,
    mut file: &[u8],
    cell_counts: impl Iterator<Item = usize>,
) -> Vec<Vec<Vec<u8>>> {
    let mut scratch = Scratch::new();
    let mut tiles = Vec::new();
    for cell_count in cell_counts {
        let (filtered, rest) = file.split_at(filtered_tile_byte_len(file).unwrap());
        let mut data = vec![0xee; codec.decoded_len(filtered, 1 << 26).unwrap()];
        let mut offsets = vec![u64::MAX; cell_count];
        codec.decode_strings(filtered, &mut data, &mut offsets, &mut scratch).unwrap();
        let mut again = Vec::new();
        codec.encode_var(&data, &offsets, &mut again, &mut scratch).unwrap();
        let (mut data_again, mut offsets_again) = (vec![0; data.len()], vec![0; cell_count]);
        codec.decode_strings(&again, &mut data_again, &mut offsets_again, &mut scratch).unwrap();
        assert_eq!((&data, &offsets), (&data_again, &offsets_again));
        tiles.push(cells(&data, &offsets));
        file = rest;
    }
    assert!(file.is_empty());
    tiles
}

fn cells(data: &[u8], offsets: &[u64]) -> Vec<Vec<u8>> {
    let mut ends: Vec<_> = offsets.iter().skip(1).map(|&end| end as usize).collect();
    ends.push(data.len());
    offsets.iter().zip(ends).map(|(&start, end)| data[start as usize..end].to_vec()).collect()
}

fn check(case: &Case, archive: &Archive) -> usize {
    let rules = rules_of_version(case.version);
    let encryption = case.key.clone().map(|key| Encryption { key, ..fuzz::fixed_encryption() });
    let encryption = encryption.as_ref();
    let mut checked = 0;
    for (index, attribute) in case.attributes.iter().enumerate() {
        let Some(expected) = case.expected(attribute) else { continue };
        let context = format!("{} {} {:?}", case.name, attribute.name, attribute.pipeline);
        let kind = FieldKind::data(attribute.datatype, attribute.cell_val_num);
        let codec = Codec::new(&attribute.pipeline, kind, rules, encryption).expect(&context);
        if case.version >= 20 {
            Codec::check(&attribute.pipeline, kind).expect(&context);
        }
        let file = |ending| archive.file(&case.data_file(index, &attribute.name, ending));
        let cell_byte_len = kind.cell_byte_len();
        let found: Vec<Vec<u8>> = if attribute.cell_val_num.raw() != u32::MAX {
            let tiles = tiles(&codec, file(""), Some(case.cells_per_tile() * cell_byte_len));
            case.in_row_major_order(&tiles, |tile, cell| {
                tile[cell * cell_byte_len..(cell + 1) * cell_byte_len].to_vec()
            })
        } else {
            let split: Vec<Vec<Vec<u8>>> = if codec.folds_offsets() {
                let tile_count = file("").len() / 8;
                assert!(file("").iter().all(|&byte| byte == 0), "{context}");
                string_tiles(&codec, file("_var"), (0..tile_count).map(|_| case.cells_per_tile()))
            } else {
                let offsets_codec =
                    Codec::new(&case.offsets_pipeline, FieldKind::offsets(), rules, encryption).unwrap();
                let offsets = tiles(&offsets_codec, file(""), Some(case.cells_per_tile() * 8));
                let data = tiles(&codec, file("_var"), None);
                assert_eq!(offsets.len(), data.len());
                let split = |(data, offsets): (&Vec<u8>, &Vec<u8>)| {
                    let offsets: Vec<u64> = bytemuck::pod_collect_to_vec(offsets);
                    let mut again = Vec::new();
                    let mut scratch = Scratch::new();
                    codec.encode_var(data, &offsets, &mut again, &mut scratch).unwrap();
                    let mut second = vec![0; data.len()];
                    codec.decode_into(&again, &mut second, &mut scratch).unwrap();
                    assert_eq!(*data, second);
                    cells(data, &offsets)
                };
                data.iter().zip(&offsets).map(split).collect()
            };
            case.in_row_major_order(&split, |tile, cell| tile[cell].clone())
        };
        let valid: Vec<bool> = if attribute.nullable {
            let codec =
                Codec::new(&case.validity_pipeline, FieldKind::validity(), rules, encryption).unwrap();
            let tiles = tiles(&codec, file("_validity"), Some(case.cells_per_tile()));
            case.in_row_major_order(&tiles, |tile, cell| tile[cell] != 0)
        } else {
            vec![true; found.len()]
        };
        assert_eq!(found.len(), expected.len(), "{context}");
        for (cell, ((found, valid), expected)) in found.iter().zip(valid).zip(&expected).enumerate() {
            let found = valid.then_some(found);
            assert!(
                expected.matches(found, attribute.datatype),
                "{context} cell {cell}: {found:?}, {expected:?}"
            );
        }
        checked += 1;
    }
    checked
}

#[test]
fn data_files_of_every_version_decode_to_the_expected_values() {
    let archives = Archive::all();
    let mut per_version = Vec::new();
    for archive in &archives {
        let mut checked = 0;
        for name in archive.case_names() {
            if let Some(case) = Case::of_archive(archive, &name) {
                checked += check(&case, archive);
            }
        }
        per_version.push((archive.version, checked));
    }
    println!("attributes checked by version: {per_version:?}");
    if !archives.is_empty() {
        assert!(per_version.iter().map(|(_, checked)| checked).sum::<usize>() > 1000);
    }
}

#[test]
fn strings_of_sparse_arrays_decode_to_the_expected_values() {
    let mut checked: BTreeMap<u64, usize> = BTreeMap::new();
    for archive in Archive::all() {
        for name in archive.case_names() {
            if name.contains("filter_strings_") {
                *checked.entry(archive.version).or_default() += check_strings(&archive, &name);
            }
        }
    }
    println!("string fields checked by version: {checked:?}");
    assert!(checked.is_empty() || checked.values().sum::<usize>() > 50);
}

/// Compares the values of every var-sized string field as a multiset: the tiles are in global order, the corpus is sorted.
fn check_strings(archive: &Archive, name: &str) -> usize {
    let json: serde_json::Value =
        serde_json::from_slice(archive.file(&format!("{name}/expected.json"))).unwrap();
    let (schema, version) = (&json["schema"], json["format_version"].as_u64().unwrap());
    let metadata_files = archive.find(&format!("{name}/array/"), "/__fragment_metadata.tdb");
    let ([metadata_file], read) = (&metadata_files[..], &json["reads"][0]) else { return 0 };
    let folder = metadata_file.strip_suffix("/__fragment_metadata.tdb").unwrap();
    let rules = rules_of_version(version);
    let offsets_pipeline = case::pipeline(&schema["offsets_filters"], &[]);
    let (capacity, cell_count) = (schema["capacity"].as_u64().unwrap(), read["num_cells"].as_u64().unwrap());
    let counts =
        (0..cell_count.div_ceil(capacity)).map(|tile| capacity.min(cell_count - tile * capacity) as usize);
    let mut checked = 0;
    let fields = schema["dims"]
        .as_array()
        .unwrap()
        .iter()
        .map(|dim| (dim, 'd'))
        .enumerate()
        .chain(schema["attrs"].as_array().unwrap().iter().map(|attribute| (attribute, 'a')).enumerate());
    for (index, (field_json, letter)) in fields {
        let mut field = case::attribute(field_json, &[]);
        if !field_json["filters"].is_object() {
            field.pipeline = case::pipeline(&schema["coords_filters"], &[]);
        }
        let column = &read["columns"][&field.name];
        let (Some(values), true) = (column["values"].as_array(), field.datatype.is_string()) else {
            continue;
        };
        let mut expected: Vec<Vec<u8>> =
            values.iter().map(|value| value.as_str().unwrap_or("").as_bytes().to_vec()).collect();
        let kind = FieldKind::data(field.datatype, CellValNum::Var);
        let codec = Codec::new(&field.pipeline, kind, rules, None).unwrap();
        let path = |ending: &str| match version {
            9.. => format!("{folder}/{letter}{index}{ending}.tdb"),
            _ => format!("{folder}/{}{ending}.tdb", field.name),
        };
        let (offsets, data) = (archive.file(&path("")), archive.file(&path("_var")));
        let split = if codec.folds_offsets() {
            assert!(offsets.len() == 8 * counts.clone().count() && offsets.iter().all(|&byte| byte == 0));
            string_tiles(&codec, data, counts.clone())
        } else {
            let offsets_codec = Codec::new(&offsets_pipeline, FieldKind::offsets(), rules, None).unwrap();
            let offsets = tiles(&offsets_codec, offsets, None);
            let split =
                |(data, offsets): (&Vec<u8>, &Vec<u8>)| cells(data, &bytemuck::pod_collect_to_vec(offsets));
            tiles(&codec, data, None).iter().zip(&offsets).map(split).collect()
        };
        let mut found = split.concat();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{name} {}", field.name);
        checked += 1;
    }
    checked
}
