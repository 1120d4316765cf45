"""What came with which format version: an array that has one of these is drawn from that version on, and before it the
program must refuse it."""

# Datatypes and filters: the version of the first release that knows them. WebP came with 2.13 within version 16, GEOM_*
# with 2.21 within version 21.
SINCE = {
    "dictionary": 13, "BOOL": 14, "scale_float": 15, "xor": 16, "webp": 16, "delta": 19, "GEOM_WKB": 21, "GEOM_WKT": 21,
}
# Options: before these, the filter works on the field's own type.
REINTERPRET_SINCE = {"delta": 19, "double_delta": 20}


# The dictionary filter on var-sized UTF-8; before, it takes ASCII alone.
UTF8_DICTIONARY_SINCE = 17


def pipelines(schema):
    """(field or None, filter list) of every filter list that a schema states."""
    for field in schema["dims"] + schema["attrs"]:
        if field.get("filters"):
            yield field, field["filters"]["filters"]
    for which in ("coords_filters", "offsets_filters", "validity_filters"):
        if schema.get(which):
            yield None, schema[which]["filters"]


def used(schema):
    """Names of the datatypes and filters in a schema."""
    out = {field["type"] for field in schema["dims"] + schema["attrs"]}
    for _, filters in pipelines(schema):
        out |= {item["filter"] for item in filters}
    return out


def first_version(schema):
    """The oldest format version whose releases know all that the schema uses."""
    versions = [SINCE.get(name, 12) for name in used(schema)]
    for field, filters in pipelines(schema):
        for item in filters:
            if item.get("reinterpret", "ANY") != "ANY":
                versions.append(REINTERPRET_SINCE[item["filter"]])
            if item["filter"] == "dictionary" and field and field["type"] == "STRING_UTF8":
                versions.append(UTF8_DICTIONARY_SINCE)
    return max(versions)
