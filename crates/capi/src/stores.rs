//! Settings of object stores, from libtiledb's keys to the engine's.

use crate::config::Config;
use crate::failure::Fallible;
use smalti::storage::Settings;

/// Keys of libtiledb and what they are called here, where a value means the same.
const SAME: &[(&str, &str)] = &[
    ("vfs.s3.region", "s3.region"),
    ("vfs.s3.aws_access_key_id", "s3.access_key_id"),
    ("vfs.s3.aws_secret_access_key", "s3.secret_access_key"),
    ("vfs.s3.aws_session_token", "s3.session_token"),
    ("vfs.s3.aws_role_arn", "s3.role_arn"),
    ("vfs.s3.aws_session_name", "s3.role_session_name"),
    ("vfs.s3.no_sign_request", "s3.anonymous"),
    ("vfs.azure.storage_account_name", "azure.account"),
    ("vfs.azure.storage_account_key", "azure.key"),
    ("vfs.azure.storage_sas_token", "azure.sas"),
    ("vfs.azure.blob_endpoint", "azure.endpoint"),
    ("vfs.gcs.endpoint", "gcs.endpoint"),
    ("vfs.gcs.service_account_key", "gcs.service_account"),
    ("vfs.gcs.project_id", "gcs.project"),
    ("ssl.ca_file", "network.ca_file"),
    ("vfs.s3.ca_file", "network.ca_file"),
];

/// Numbers of one of libtiledb's stores, which are numbers of all stores here, and the unit that they are in.
const NUMBERS: &[(&str, &str, &str)] = &[
    ("vfs.azure.max_parallel_ops", "network.requests", ""),
    ("vfs.gcs.max_parallel_ops", "network.requests", ""),
    ("vfs.s3.max_parallel_ops", "network.requests", ""),
    ("vfs.azure.block_list_block_size", "network.part_size", ""),
    ("vfs.gcs.multi_part_size", "network.part_size", ""),
    ("vfs.s3.multipart_part_size", "network.part_size", ""),
    ("vfs.azure.max_retries", "network.retries", ""),
    ("vfs.azure.retry_delay_ms", "network.retry_pause", " ms"),
    ("vfs.gcs.request_timeout_ms", "network.retry_time", " ms"),
    ("vfs.s3.request_timeout_ms", "network.timeout", " ms"),
    ("vfs.s3.connect_timeout_ms", "network.connect_timeout", " ms"),
];

/// What the stores of a context are set to: the environment's settings, and those of the configuration over them.
pub(crate) fn settings(config: &Config) -> Fallible<Settings> {
    let mut settings = Settings::from_env()?;
    for (theirs, ours) in SAME {
        if config.differs(theirs) {
            let value = config.own(theirs);
            if !value.is_empty() {
                settings.set(ours, &value)?;
            }
        }
    }
    let endpoint = config.own("vfs.s3.endpoint_override");
    if !endpoint.is_empty() {
        let scheme = config.own("vfs.s3.scheme");
        let address = if endpoint.contains("://") { endpoint } else { format!("{scheme}://{endpoint}") };
        settings.set("s3.endpoint", &address)?;
    }
    if config.differs("vfs.s3.use_virtual_addressing") || !config.own("vfs.s3.endpoint_override").is_empty() {
        settings.set("s3.virtual_hosted", &config.own("vfs.s3.use_virtual_addressing"))?;
    }
    for (theirs, ours, unit) in NUMBERS {
        if config.differs(theirs) {
            settings.set(ours, &format!("{}{unit}", config.own(theirs)))?;
        }
    }
    if config.differs("vfs.s3.connect_max_tries") {
        let tries: u64 = config.parse("vfs.s3.connect_max_tries")?;
        settings.set("network.retries", &tries.saturating_sub(1).to_string())?;
    }
    let host = config.own("vfs.s3.proxy_host");
    if !host.is_empty() {
        let (scheme, port) = (config.own("vfs.s3.proxy_scheme"), config.own("vfs.s3.proxy_port"));
        settings.set("network.proxy", &format!("{scheme}://{host}:{port}"))?;
    }
    Ok(settings)
}
