//! Files kept in arrays: one dense dimension of positions, one attribute of bytes, and what the file was in metadata.

use crate::boundary::entry::entries;
use crate::boundary::{Data, DataOut, New, Out, Text};
use crate::context::Context;
use crate::failure::{Failure, Fallible, fail};
use crate::library::now_ms;
use crate::schema::SchemaHandle;
use crate::uris;
use crate::values::{count, index};
use crate::vfs::{files, inner, told};
use smalti::format::{Attribute, DataOrder, Dimension, default_fill_value};
use smalti::{
    Array, ArrayType, CellValNum, ColumnRef, Datatype, Duplicates, Extent, FilterPipeline, Layout,
    ReadRequest, Scalar, Value, WriteRequest,
};

const ORIGIN: &str = "Filestore";
const POSITION: &str = "position";
const CONTENTS: &str = "contents";

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// How many bytes a tile holds, for files of a length.
fn tile_extent(byte_len: u64) -> u64 {
    match byte_len {
        len if len > GIB => 100 * MIB,
        len if len > 100 * MIB => MIB,
        len if len > MIB => 256 * KIB,
        _ => KIB,
    }
}

fn schema(extent: u64) -> Fallible<SchemaHandle> {
    let mut handle = SchemaHandle::new(ArrayType::Dense, None);
    handle.schema.dimensions.push(Dimension {
        name: POSITION.to_owned(),
        datatype: Datatype::UInt64,
        cell_val_num: CellValNum::ONE,
        filters: FilterPipeline::default(),
        domain: Some((Scalar::U64(0), Scalar::U64(u64::MAX - extent - 1))),
        tile_extent: Some(Scalar::U64(extent)),
    });
    handle.schema.attributes.push(Attribute {
        name: CONTENTS.to_owned(),
        datatype: Datatype::Blob,
        cell_val_num: CellValNum::ONE,
        filters: FilterPipeline::default(),
        fill_value: default_fill_value(Datatype::Blob, CellValNum::ONE),
        nullable: false,
        fill_valid: false,
        order: DataOrder::Unordered,
        enumeration: None,
    });
    Ok(handle)
}

fn mime(kind: i32) -> Fallible<&'static str> {
    match kind {
        0 => Ok("application/octet-stream"),
        1 => Ok("image/tiff"),
        2 => Ok("application/pdf"),
        _ => fail("C API", "Invalid mime type"),
    }
}

fn open(ctx: &Context, uri: Text) -> Fallible<Array> {
    let Some(uri) = uri.optional()? else { return fail("C API", "Invalid uri pointer") };
    Array::open_with(&uris::inner(uri), &ctx.options(None)?).map_err(Failure::of_opening(ORIGIN))
}

/// Notes what the file was: its length, kind and name.
fn note(array: &Array, at: u64, byte_len: u64, mime: &str, name: &str, extension: &str) -> Fallible<()> {
    let text = |text: &str| Value::from_le_bytes(Datatype::StringUtf8, text.as_bytes());
    let builder = array
        .write_metadata()
        .put("file_size", Value::from(Scalar::U64(byte_len)))
        .put("mime_encoding", text("binary")?)
        .put("mime_type", text(mime)?)
        .put("original_file_name", text(name)?)
        .put("file_extension", text(extension)?);
    builder.at(at).commit().map(|_| ()).map_err(Failure::of(ORIGIN))
}

fn write(array: &Array, at: u64, offset: u64, bytes: &[u8]) -> Fallible<()> {
    let request = WriteRequest {
        columns: vec![(CONTENTS.to_owned(), ColumnRef::fixed(bytes))],
        subarray: Some(vec![Extent::Num { lo: offset, hi: offset + count(bytes.len()) - 1 }]),
        layout: Layout::RowMajor,
        at: Some(at),
        duplicates: Duplicates::Refuse,
        progress: None,
    };
    array.write_raw(&request).map(|_| ()).map_err(Failure::of(ORIGIN))
}

fn stored_len(array: &Array) -> Fallible<u64> {
    let metadata = array.metadata()?;
    let found = metadata.get("file_size").and_then(Value::as_scalar).and_then(Scalar::as_i128);
    match found.and_then(|len| u64::try_from(len).ok()) {
        Some(byte_len) => Ok(byte_len),
        None => fail(ORIGIN, "The array metadata doesn't contain the file_size key"),
    }
}

/// Reads bytes from an offset, piece by piece.
fn read(
    array: &Array,
    offset: u64,
    byte_len: u64,
    mut take: impl FnMut(&[u8]) -> Fallible<()>,
) -> Fallible<()> {
    if byte_len == 0 {
        return Ok(());
    }
    let request = ReadRequest {
        fields: vec![CONTENTS.to_owned()],
        ranges: vec![vec![Extent::Num { lo: offset, hi: offset + byte_len - 1 }]],
        layout: Some(Layout::RowMajor),
        ..ReadRequest::default()
    };
    for batch in array.read_raw(&request).map_err(Failure::of(ORIGIN))? {
        let batch = batch.map_err(Failure::of(ORIGIN))?;
        batch.columns.first().map_or(Ok(()), |column| take(column.data.as_slice()))?;
    }
    Ok(())
}

/// The name of a file without what is before it, and what stands behind its last dot.
fn name_parts(uri: &str) -> (&str, &str) {
    let name = uri.rsplit('/').next().unwrap_or(uri);
    name.rsplit_once('.').unwrap_or((name, name))
}

entries! {
    fn tiledb_filestore_schema_create(ctx, uri: Text, array_schema: New<SchemaHandle>) {
        let byte_len = match uri.optional()? {
            Some(uri) => {
                files(ctx, &ctx.config)?.byte_len(&inner(uri)).map_err(told("Cannot get file size of", uri))?
            }
            None => 0,
        };
        array_schema.put(schema(tile_extent(byte_len))?)
    }

    fn tiledb_filestore_uri_import(ctx, filestore_array_uri: Text, file_uri: Text, mime_type: i32) {
        let Some(uri) = file_uri.optional()? else { return fail("C API", "Invalid uri pointer") };
        let mime = mime(mime_type)?;
        let told = told("Cannot read from file", uri);
        let mut file = files(ctx, &ctx.config)?.open(&inner(uri)).map_err(|_| {
            Failure::told("C API", "Failed to open the file; Invalid file URI or incorrect file permissions")
        })?;
        let byte_len = file.byte_len();
        if byte_len == 0 {
            return Ok(());
        }
        let array = open(ctx, filestore_array_uri)?;
        let extent = array.schema().dimensions.first().and_then(Dimension::extent_len).unwrap_or(KIB);
        let buffer_len: u64 = ctx.config.parse("filestore.buffer_size")?;
        if buffer_len < extent {
            return fail(
                "C API",
                format!(
                    "The buffer size configured via filestore.buffer_size is smaller than current {extent} tile extent"
                ),
            );
        }
        let piece_len = buffer_len / extent * extent;
        // Cells and metadata are of one moment.
        let (at, mut offset) = (now_ms(), 0);
        while offset < byte_len {
            let mut piece = vec![0; index(piece_len.min(byte_len - offset))];
            file.read_at(offset, &mut piece).map_err(&told)?;
            write(&array, at, offset, &piece)?;
            offset += count(piece.len());
        }
        let (name, extension) = name_parts(uri);
        note(&array, at, byte_len, mime, name, extension)
    }

    fn tiledb_filestore_uri_export(ctx, file_uri: Text, filestore_array_uri: Text) {
        let Some(uri) = file_uri.optional()? else { return fail("C API", "Invalid uri pointer") };
        let array = open(ctx, filestore_array_uri)?;
        let byte_len = stored_len(&array)?;
        let told = told("Cannot write to file", uri);
        let mut file = files(ctx, &ctx.config)?.create(&inner(uri)).map_err(|_| {
            Failure::told("C API", "Failed to open the file; Invalid file URI or incorrect file permissions")
        })?;
        read(&array, 0, byte_len, |bytes| file.write(bytes).map_err(&told))?;
        file.sync().and_then(|()| file.close()).map_err(&told)
    }

    fn tiledb_filestore_buffer_import(
        ctx,
        filestore_array_uri: Text,
        buffer: Data,
        size: usize,
        mime_type: i32,
    ) {
        let mime = mime(mime_type)?;
        if buffer.is_null() {
            return fail("C API", "Invalid pointer");
        }
        if size == 0 {
            return Ok(());
        }
        let array = open(ctx, filestore_array_uri)?;
        let at = now_ms();
        write(&array, at, 0, buffer.bytes(count(size), "buf")?)?;
        note(&array, at, count(size), mime, "", "")
    }

    fn tiledb_filestore_buffer_export(
        ctx,
        filestore_array_uri: Text,
        offset: usize,
        buffer: DataOut,
        size: usize,
    ) {
        if buffer.is_null() {
            return fail("C API", "Invalid pointer");
        }
        let array = open(ctx, filestore_array_uri)?;
        if offset.checked_add(size).is_none_or(|end| count(end) > stored_len(&array).unwrap_or(0)) {
            stored_len(&array)?;
            return fail(ORIGIN, "The number of bytes requested is bigger than the array");
        }
        let mut rest = buffer.place(count(size))?;
        read(&array, count(offset), count(size), |bytes| {
            let Some((place, behind)) = std::mem::take(&mut rest).split_at_mut_checked(bytes.len()) else {
                return fail(ORIGIN, "more bytes than were asked for");
            };
            place.copy_from_slice(bytes);
            rest = behind;
            Ok(())
        })
    }

    fn tiledb_filestore_size(ctx, filestore_array_uri: Text, size: Out<usize>) {
        size.put(index(stored_len(&open(ctx, filestore_array_uri)?)?))
    }
}
