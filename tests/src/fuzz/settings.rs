//! The target of settings, and seeds of theirs: files of settings, files that the AWS tools share, and connection strings.

/// Reads settings as users write them.
pub fn fuzz_settings(input: &[u8]) {
    smalti_object::fuzzing::settings(input);
}

/// Some files and texts.
pub fn seeds() -> Vec<(String, Vec<u8>)> {
    let texts = [
        (
            "settings",
            "# mine\ns3.region = \"eu-west-1\"\nnetwork.timeout = 10 s\nnetwork.part_size=8 MiB\ns3.anonymous = TRUE\n\
             network.proxy = http://user:pass@[::1]:3128/\nnetwork.retries = 3\ns3.conditional_put = etag\n",
        ),
        (
            "profiles",
            "[default]\nregion = us-west-2\n[profile \"dev one\"]\nrole_arn = arn:aws:iam::1:role/r\r\nsource_profile=default\n\
             services = local\n[services local]\ns3 =\n  endpoint_url = http://127.0.0.1:9000\n; note\n",
        ),
        ("keys", "[a]\naws_access_key_id = ID\naws_secret_access_key = a/b+c=\naws_session_token=\n"),
        (
            "connection",
            "DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=aGV4;EndpointSuffix=core.windows.net",
        ),
        (
            "signature",
            "BlobEndpoint=https://acc.blob.core.windows.net/;SharedAccessSignature=sv=2024&sig=a%2Fb;",
        ),
        ("emulator", "UseDevelopmentStorage=true"),
        ("container", "box@acc.dfs.core.windows.net"),
    ];
    texts.into_iter().map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())).collect()
}
