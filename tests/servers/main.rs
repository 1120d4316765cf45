//! Object stores, against servers that run on this machine: moto, which is Python and knows all conditions of S3, and s3s-fs, which is Rust, in this process,
//! and fast, but checks conditions before it writes. moto is started by the Python that `SMALTI_SERVERS_PYTHON` names; without it its tests say
//! so and pass, unless `SMALTI_SERVERS_ALL` asks for all servers.
#![deny(unsafe_code)]

mod bad_input;
mod certificate;
mod conforms;
mod gcs;
mod hostile;
mod http;
mod programs;
mod races;
mod server;
mod site;
