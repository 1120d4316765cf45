//! What most programs use: `use smalti::prelude::*;`

pub use crate::{
    Array, Attribute, Columns, Condition, Datatype, Dimension, EncryptionKey, Enumeration, Error, ErrorKind,
    Filter, Group, Label, Layout, Options, Schema, Value, field,
};
