//! Which credentials go along with requests to Azure, and where they go.

use super::canned::Answer;
use super::*;
use smalti_types::ErrorKind;

const EMPTY: &str = "<?xml version=\"1.0\"?><EnumerationResults><Blobs></Blobs><NextMarker></NextMarker></EnumerationResults>";

fn empty() -> Server {
    Canned::new(|_| Answer::new(200, EMPTY))
}

#[test]
fn the_first_source_of_credentials_is_used_and_named() {
    let azure = Canned::new(|_| Answer::refusal(403, "AuthorizationFailure"));
    let authority = Canned::new(|asked| {
        let by = if asked.field("client_assertion").is_empty() { "secret" } else { "assertion" };
        Answer::new(200, format!(r#"{{"access_token": "by-{by}", "expires_in": 3600}}"#))
    });
    let metadata =
        Canned::new(|_| Answer::new(200, r#"{"access_token": "machine", "expires_on": "4000000000"}"#));
    let folder = tempfile::tempdir().unwrap();
    let token_file = file(&folder, "token", "hush-assertion");
    let (address, authority_address, identity) = (azure.address(), authority.address(), metadata.address());
    let connection = format!("AccountName=acc;AccountKey=aHVzaA==;BlobEndpoint={address}");
    let base = [
        ("AZURE_STORAGE_ACCOUNT", "acc"),
        ("AZURE_STORAGE_ENDPOINT", address.as_str()),
        ("AZURE_AUTHORITY_HOST", &authority_address),
    ];
    let client = [("AZURE_CLIENT_ID", "app"), ("AZURE_TENANT_ID", "tenant")];
    let of = |more: &[(&'static str, &str)]| -> Vec<(&'static str, String)> {
        more.iter().map(|&(name, value)| (name, value.to_owned())).collect()
    };
    for (variables, sent, who) in [
        (
            of(&[("AZURE_STORAGE_CONNECTION_STRING", &connection), ("AZURE_STORAGE_TOKEN", "x")]),
            "SharedKey acc:",
            "the connection string of",
        ),
        (
            of(&[("AZURE_STORAGE_ACCOUNT_KEY", "aHVzaA==")]),
            "SharedKey acc:",
            "the key of the account acc, of the variable AZURE_STORAGE_ACCOUNT_KEY",
        ),
        (of(&[("AZURE_STORAGE_SAS_TOKEN", "?sv=1&sig=hush")]), "", "the shared access signature of"),
        (of(&[("AZURE_STORAGE_TOKEN", "hush-token")]), "Bearer hush-token", "the token of"),
        (
            of(&[client[0], client[1], ("AZURE_CLIENT_SECRET", SECRET)]),
            "Bearer by-secret",
            "the application app, with the secret of",
        ),
        (
            of(&[client[0], client[1], ("AZURE_FEDERATED_TOKEN_FILE", &token_file)]),
            "Bearer by-assertion",
            "the application app, with the workload identity of",
        ),
        (of(&[("IDENTITY_ENDPOINT", &identity)]), "Bearer machine", "the managed identity of this machine"),
        (of(&[]), "", "nobody, as no credentials were found: looked at AZURE_STORAGE_CONNECTION_STRING"),
        (
            of(&[("AZURE_STORAGE_TOKEN", "x"), ("SMALTI_AZURE_ANONYMOUS", "true")]),
            "",
            "nobody (azure.anonymous)",
        ),
    ] {
        let variables: Vec<(&str, &str)> = base
            .iter()
            .copied()
            .chain(variables.iter().map(|(name, value)| (*name, value.as_str())))
            .collect();
        let told = problem(&open(&settings(&variables, &[]), "az://box/array"));
        assert!(told.contains(who), "{who}: {told}");
        let asked = azure.asked();
        assert_eq!(asked.len(), 1, "{who}");
        let authorization = asked[0].header("authorization");
        assert!(
            authorization.starts_with(sent) && authorization.is_empty() == sent.is_empty(),
            "{who}: {authorization}"
        );
        assert_eq!(
            asked[0].target.contains("sig=hush"),
            who.starts_with("the shared"),
            "{}",
            asked[0].target
        );
        assert!(asked[0].target.starts_with("/box?"), "{}", asked[0].target);
    }
}

#[test]
fn uris_name_the_account_or_leave_it_to_settings() {
    let azure = empty();
    let address = azure.address();
    let with_endpoint = settings(&[("AZURE_STORAGE_ENDPOINT", &address)], &[]);
    for uri in [
        "abfss://box@acc.dfs.core.windows.net/array",
        "abfs://box@acc.blob.core.windows.net/array",
        "az://box@acc.dfs.core.windows.net/array",
        "azure://box@acc.dfs.core.windows.net/array",
    ] {
        assert!(open(&with_endpoint, uri).list("array").unwrap().is_empty(), "{uri}");
    }
    for uri in ["az://box/array", "azure://box/array", "abfss://box/array"] {
        let told = problem(&open(&with_endpoint, uri));
        assert!(told.contains("the storage account is not known"), "{told}");
        let named = settings(&[("AZURE_STORAGE_ENDPOINT", &address), ("AZURE_STORAGE_ACCOUNT", "acc")], &[]);
        open(&named, uri).list("array").unwrap();
    }
    let refused = |uri: &str| {
        let (scheme, rest) = uri.split_once("://").unwrap();
        ObjectStores::new(with_endpoint.clone()).open(scheme, rest).unwrap_err()
    };
    for uri in [
        "abfss://box@evil.example/array",
        "az://@acc.dfs.core.windows.net/array",
        "az://b%6Fx/array",
        "az://b ox/array",
    ] {
        assert_eq!(refused(uri).kind(), ErrorKind::InvalidArgument, "{uri}");
    }
}

#[test]
fn secrets_of_one_account_do_not_go_to_another() {
    let azure = empty();
    let address = azure.address();
    let connection = format!("AccountName=acc;AccountKey=aHVzaA==;BlobEndpoint={address}");
    for (variables, source) in [
        (vec![("AZURE_STORAGE_CONNECTION_STRING", connection.as_str())], "AZURE_STORAGE_CONNECTION_STRING"),
        (vec![("AZURE_STORAGE_ACCOUNT", "acc"), ("AZURE_STORAGE_KEY", "aHVzaA==")], "AZURE_STORAGE_KEY"),
        (
            vec![("AZURE_STORAGE_ACCOUNT", "acc"), ("AZURE_STORAGE_SAS_TOKEN", "sig=hush")],
            "AZURE_STORAGE_SAS_TOKEN",
        ),
    ] {
        let variables = [&[("AZURE_STORAGE_ENDPOINT", address.as_str())][..], &variables].concat();
        let told = problem(&open(&settings(&variables, &[]), "abfss://box@other.dfs.core.windows.net/array"));
        assert!(told.contains("names the account \"other\"") && told.contains(source), "{told}");
        assert_eq!(azure.asked().len(), 0);
        open(&settings(&variables, &[]), "abfss://box@acc.dfs.core.windows.net/array").list("array").unwrap();
        assert_eq!(azure.asked().len(), 1);
    }
}

#[test]
fn a_connection_string_says_where_its_account_is() {
    let azure = empty();
    let connection = format!(
        "AccountName=devstoreaccount1;AccountKey=aHVzaA==;BlobEndpoint={}/devstoreaccount1",
        azure.address()
    );
    let store = open(&settings(&[("AZURE_STORAGE_CONNECTION_STRING", &connection)], &[]), "az://box/array");
    store.list("array").unwrap();
    assert!(azure.asked()[0].target.starts_with("/devstoreaccount1/box?"));
    for (bad, what) in
        [("hush", "neither AccountKey"), ("AccountName=acc;AccountKey=hush hush", "cannot be opened")]
    {
        let told =
            problem(&open(&settings(&[("AZURE_STORAGE_CONNECTION_STRING", bad)], &[]), "az://box/array"));
        assert!(told.contains(what), "{told}");
    }
    let half = [("AZURE_STORAGE_ACCOUNT", "acc"), ("AZURE_CLIENT_SECRET", SECRET)];
    assert!(
        problem(&open(&settings(&half, &[]), "az://box/array"))
            .contains("azure.client_id and azure.tenant_id are not both set")
    );
}

#[test]
fn answers_to_batches_are_believed_when_they_answer_what_was_asked() {
    for (numbers, is_done) in [
        (&["0", "1"][..], true),
        (&["1", "0"], true),
        (&["0", "1", "2"], false),
        (&["0", "18446744073709551615"], false),
        (&["1"], false),
        (&[], false),
    ] {
        let azure = Canned::new(move |asked| {
            assert!(asked.method == "POST" && asked.target.contains("comp=batch"), "{}", asked.target);
            let part = |number: &&str| {
                format!(
                    "--b\r\nContent-ID: {number}\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
                )
            };
            let body = numbers.iter().map(part).collect::<String>() + "--b--\r\n";
            Answer::new(202, body).with("content-type", "multipart/mixed; boundary=b")
        });
        let address = azure.address();
        let variables = [("AZURE_STORAGE_ENDPOINT", address.as_str()), ("AZURE_STORAGE_ACCOUNT", "acc")];
        let store = open(&settings(&variables, &[("azure.token", SECRET)]), "az://box/array");
        let deleted = store.delete_files(&["array/a", "array/b"]);
        assert_eq!(deleted.is_ok(), is_done, "{numbers:?}: {deleted:?}");
        if let Err(failed) = deleted {
            assert_eq!(failed.kind(), ErrorKind::Io, "{failed}");
            assert!(!failed.to_string().contains("panic"), "{failed}");
        }
    }
}
