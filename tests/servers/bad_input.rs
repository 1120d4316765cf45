//! What people set wrongly: each is told in one line, which says who was asked, with whose credentials, and what to do.
//!
//! Answers are those of the services' public documentation: codes, statuses and headers of S3
//! (<https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html>), of Google's store
//! (<https://cloud.google.com/storage/docs/xml-api/reference-status>) and of Azure
//! (<https://learn.microsoft.com/rest/api/storageservices/blob-service-error-codes>).

use crate::certificate::{TlsServer, pem};
use smalti::{Array, Context, ErrorKind, Options};
use smalti_object::{ObjectStores, Settings};
use smalti_store::{Remote as _, Store};
use smalti_tests::proxy::{Canned, Fault, Proxy, Rule};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;

/// What stands for secrets: nothing that is printed has it.
const SECRET: &str = "c2VjcmV0LWh1c2g=";

/// Nobody listens there.
const CLOSED: &str = "127.0.0.1:1";

/// Who asks, in messages.
const OF_S3: &str = "the key AKIDEXAMPLE of the program";
const OF_GCS: &str = "nobody (gcs.anonymous)";
const OF_AZURE: &str = "the shared access signature of the program";

/// A case of the table: what is answered, and what is said of it. In the line `HOST` stands for whoever was asked.
struct Case {
    uri: &'static str,
    status: u16,
    headers: &'static [(&'static str, &'static str)],
    body: String,
    kind: ErrorKind,
    line: String,
}

/// An error as S3 and Google's store write it.
fn xml(code: &str, more: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{code}</Code><Message>What is written here\nchanges.</Message>{more}\
         <RequestId>4442587FB7D0A2F9</RequestId><HostId>aWQ=</HostId></Error>"
    )
}

/// As Azure writes it, with a mark of byte order.
fn of_azure(code: &str, more: &str) -> String {
    format!(
        "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>{code}</Code><Message>What is written here\n\
         RequestId:00000000-0000-0000-0000-000000000000\nTime:2024-01-01T00:00:00.0Z</Message>{more}</Error>"
    )
}

fn settings_of(uri: &str, endpoint: &str) -> Settings {
    let mut settings = Settings::default();
    let of_scheme: &[(&str, &str)] = match uri.split_once("://").unwrap().0 {
        "s3" => &[
            ("s3.region", "us-east-1"),
            ("s3.access_key_id", "AKIDEXAMPLE"),
            ("s3.secret_access_key", SECRET),
            ("s3.session_token", SECRET),
        ],
        "gs" => &[("gcs.anonymous", "true")],
        _ => &[("azure.account", "ourlake"), ("azure.sas", "sv=2024-01-01&sig=c2VjcmV0LWh1c2g%3D")],
    };
    let area = match uri.split_once("://").unwrap().0 {
        "s3" => "s3",
        "gs" => "gcs",
        _ => "azure",
    };
    for (name, value) in of_scheme {
        settings.set(name, value).unwrap();
    }
    settings.set(&format!("{area}.endpoint"), endpoint).unwrap();
    settings.set("network.retries", "1").unwrap();
    settings
}

fn open(uri: &str, settings: &Settings) -> smalti::Result<Arc<dyn Store>> {
    let stores = ObjectStores::new(settings.clone());
    assert_no_secret(&format!("{stores:?} {settings:?}"));
    let (scheme, rest) = uri.split_once("://").unwrap();
    let store = stores.open(scheme, rest)?.store;
    assert_no_secret(&format!("{store:?} {stores:?}"));
    Ok(store)
}

fn assert_no_secret(text: &str) {
    for secret in [SECRET, "c2VjcmV0LWh1c2g", "s3cr3t-of-the-proxy"] {
        assert!(!text.contains(secret), "{text}");
    }
}

/// The line, and the kind, of opening an array: what most people see first.
fn told(uri: &str, settings: &Settings) -> (ErrorKind, String) {
    let options = Options::new().context(&Context::new().storage(settings.clone()));
    let error = Array::open_with(uri, &options).unwrap_err();
    let line = error.to_string();
    assert!(!line.contains('\n') && line.len() < 500, "{line}");
    assert_no_secret(&format!("{line} {error:?} {:?}", error.location()));
    (error.kind(), line)
}

/// The same of listing a folder, where there is nothing else in front of the message.
fn told_of_list(uri: &str, settings: &Settings) -> (ErrorKind, String) {
    let store = match open(uri, settings) {
        Ok(store) => store,
        Err(error) => return (error.kind(), error.to_string()),
    };
    let error = store.list("array").unwrap_err();
    let line = error.to_string();
    assert!(!line.contains('\n') && line.len() < 500, "{line}");
    assert_no_secret(&format!("{line} {error:?}"));
    (error.kind(), line)
}

fn table() -> Vec<Case> {
    let case = |uri, status, body, kind, line: &str| Case {
        uri,
        status,
        headers: &[],
        body,
        kind,
        line: line.to_owned(),
    };
    let refused = |uri, status, body, code: &str, who: &str, advice: &str| {
        let line = format!("{uri}: permission denied: HOST refused access ({code}) to {who}: {advice}");
        Case { uri, status, headers: &[], body, kind: ErrorKind::Permission, line }
    };
    let (s3, gs, az) = ("s3://ourbucket/array", "gs://ourbucket/array", "az://ourbox/array");
    let may = "check that they may do this, or use others";
    let clock = "the clock of this machine is wrong; set it";
    let ended = "the credentials have ended; get new ones";
    let (of_s3, of_gcs, of_azure_sas) = (OF_S3, OF_GCS, OF_AZURE);
    let mut cases = vec![
        case(
            s3,
            404,
            xml("NoSuchBucket", "<BucketName>ourbucket</BucketName>"),
            ErrorKind::NotFound,
            &format!(
                "s3://ourbucket/array: HOST knows no such bucket (NoSuchBucket), asked with {of_s3}: check its name, s3.endpoint and s3.region"
            ),
        ),
        refused(s3, 403, xml("AccessDenied", ""), "AccessDenied", of_s3, may),
        refused(s3, 400, xml("ExpiredToken", "<Token-0>gone</Token-0>"), "ExpiredToken", of_s3, ended),
        refused(s3, 400, xml("TokenRefreshRequired", ""), "TokenRefreshRequired", of_s3, ended),
        refused(
            s3,
            400,
            xml("InvalidToken", ""),
            "InvalidToken",
            of_s3,
            "the store knows no such token; get new credentials",
        ),
        refused(
            s3,
            403,
            xml("RequestTimeTooSkewed", "<MaxAllowedSkewMilliseconds>900000</MaxAllowedSkewMilliseconds>"),
            "RequestTimeTooSkewed",
            of_s3,
            clock,
        ),
        refused(
            s3,
            403,
            xml("InvalidAccessKeyId", "<AWSAccessKeyId>AKIDEXAMPLE</AWSAccessKeyId>"),
            "InvalidAccessKeyId",
            of_s3,
            "the store knows no such key; check s3.access_key_id and s3.endpoint",
        ),
        refused(
            s3,
            403,
            xml("SignatureDoesNotMatch", "<StringToSign>AWS4-HMAC-SHA256\n20240101T000000Z</StringToSign>"),
            "SignatureDoesNotMatch",
            of_s3,
            "the secret does not belong to the key; check s3.secret_access_key",
        ),
        refused(
            s3,
            403,
            xml("AllAccessDisabled", ""),
            "AllAccessDisabled",
            of_s3,
            "something is wrong with the account; ask whoever pays for it",
        ),
        refused(s3, 403, String::new(), "no reason given", of_s3, may),
        case(
            s3,
            503,
            xml("SlowDown", ""),
            ErrorKind::Io,
            &format!(
                "s3://ourbucket/array: input/output error: HOST answered with status 503, SlowDown, asked 2 times, to {of_s3}: \
                 try later; network.retries and network.retry_time allow for more"
            ),
        ),
        case(
            gs,
            404,
            xml("NoSuchBucket", ""),
            ErrorKind::NotFound,
            &format!(
                "gs://ourbucket/array: HOST knows no such bucket (NoSuchBucket), asked with {of_gcs}: check its name"
            ),
        ),
        refused(gs, 403, xml("AccessDenied", "<Details>no</Details>"), "AccessDenied", of_gcs, may),
        refused(
            gs,
            401,
            xml("AuthenticationRequired", ""),
            "AuthenticationRequired",
            of_gcs,
            "nobody may read this without credentials; log in",
        ),
        refused(
            gs,
            403,
            xml("InvalidSecurity", ""),
            "InvalidSecurity",
            of_gcs,
            "the store knows no such token; get new credentials",
        ),
        refused(gs, 400, xml("ExpiredToken", ""), "ExpiredToken", of_gcs, ended),
        refused(gs, 403, xml("RequestTimeTooSkewed", ""), "RequestTimeTooSkewed", of_gcs, clock),
        refused(
            gs,
            403,
            xml("AccountProblem", ""),
            "AccountProblem",
            of_gcs,
            "something is wrong with the account; ask whoever pays for it",
        ),
        refused(
            gs,
            400,
            xml("UserProjectMissing", ""),
            "UserProjectMissing",
            of_gcs,
            "the bucket wants whoever reads to pay, which is not supported",
        ),
        case(
            az,
            404,
            of_azure("ContainerNotFound", ""),
            ErrorKind::NotFound,
            &format!(
                "az://ourbox/array: HOST knows no such bucket (ContainerNotFound), asked with {of_azure_sas}: check its name and azure.account"
            ),
        ),
        refused(az, 403, of_azure("AuthorizationFailure", ""), "AuthorizationFailure", of_azure_sas, may),
        refused(
            az,
            403,
            of_azure("AuthorizationPermissionMismatch", ""),
            "AuthorizationPermissionMismatch",
            of_azure_sas,
            may,
        ),
        refused(
            az,
            403,
            of_azure(
                "AuthenticationFailed",
                "<AuthenticationErrorDetail>Signature not valid in the specified time frame: Start [Mon, 01 Jan 2024 00:00:00 GMT] - \
                 Expiry [Tue, 02 Jan 2024 00:00:00 GMT] - Current [Wed, 03 Jan 2024 00:00:00 GMT]</AuthenticationErrorDetail>",
            ),
            "AuthenticationFailed",
            of_azure_sas,
            "the signature has ended, or is not valid yet; get a new one",
        ),
        refused(
            az,
            403,
            of_azure(
                "AuthenticationFailed",
                "<AuthenticationErrorDetail>The Date header in the request is too old: [Mon, 01 Jan 2024 00:00:00 GMT]</AuthenticationErrorDetail>",
            ),
            "AuthenticationFailed",
            of_azure_sas,
            clock,
        ),
        refused(
            az,
            403,
            of_azure(
                "AuthenticationFailed",
                "<AuthenticationErrorDetail>The MAC signature found in the HTTP request is not the same as any computed signature.\
                 </AuthenticationErrorDetail>",
            ),
            "AuthenticationFailed",
            of_azure_sas,
            "check azure.key or azure.sas, azure.account, and the clock of this machine",
        ),
        refused(
            az,
            401,
            of_azure("NoAuthenticationInformation", ""),
            "NoAuthenticationInformation",
            of_azure_sas,
            "nobody may read this without credentials; log in",
        ),
        refused(
            az,
            409,
            of_azure("PublicAccessNotPermitted", ""),
            "PublicAccessNotPermitted",
            of_azure_sas,
            "nobody may read this without credentials; log in",
        ),
        refused(
            az,
            403,
            of_azure("AccountIsDisabled", ""),
            "AccountIsDisabled",
            of_azure_sas,
            "something is wrong with the account; ask whoever pays for it",
        ),
        refused(
            az,
            403,
            of_azure("KeyBasedAuthenticationNotPermitted", ""),
            "KeyBasedAuthenticationNotPermitted",
            of_azure_sas,
            "keys are switched off for this account; log in",
        ),
    ];
    for (uri, protocol, area) in [(s3, "S3's", "s3"), (gs, "Google's", "gcs"), (az, "Azure's", "azure")] {
        for (status, body) in
            [(200, "<!DOCTYPE html><html></html>"), (404, "404 page not found\n"), (405, "")]
        {
            cases.push(case(
                uri,
                status,
                body.to_owned(),
                ErrorKind::InvalidArgument,
                &format!("{uri}: what answers at HOST does not speak {protocol} protocol (status {status}): check {area}.endpoint"),
            ));
        }
    }
    cases
}

#[test]
fn what_services_refuse_is_told_in_a_line() {
    let proxy = Proxy::start(CLOSED.parse().unwrap()).unwrap();
    let host = format!("127.0.0.1:{}", proxy.port());
    let mut wrong = Vec::new();
    for case in table() {
        let mut with = Canned::xml(case.status, case.body.clone());
        for (name, value) in case.headers {
            with = with.header(name, value);
        }
        proxy.set_rules([Rule::new(Fault::Answer { reaches: false, with })]);
        let settings = settings_of(case.uri, &format!("http://{host}"));
        let found = told_of_list(case.uri, &settings);
        let line = case.line.replace("HOST", &host);
        if found != (case.kind, line.clone()) {
            wrong.push(format!("{:?} {:?}\n  instead of\n{:?} {line:?}", found.0, found.1, case.kind));
        }
        // Whoever opens an array hears the same, of a file in it.
        let (kind, opening) = told(case.uri, &settings);
        let said = |line: &str| line.split_once(": ").map(|(_, said)| said.to_owned());
        // A store that is busy is not asked for its reason.
        let line = if case.status >= 500 { line.replace(", SlowDown", "") } else { line };
        if kind != case.kind || !opening.starts_with(case.uri) || said(&opening) != said(&line) {
            wrong.push(format!("opening: {kind:?} {opening:?}\n  instead of\n{:?} {line:?}", case.kind));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn a_region_that_cannot_be_followed_is_named() {
    let proxy = Proxy::start(CLOSED.parse().unwrap()).unwrap();
    let host = format!("127.0.0.1:{}", proxy.port());
    let malformed = Canned::xml(400, xml("AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>"));
    let permanent = Canned::xml(301, xml("PermanentRedirect", "")).header("x-amz-bucket-region", "eu-west-1");
    for with in [malformed, permanent] {
        // It says so again where it was followed.
        proxy.set_rules([Rule::new(Fault::Answer { reaches: false, with })]);
        let settings = settings_of("s3://ourbucket/array", &format!("http://{host}"));
        let told = told_of_list("s3://ourbucket/array", &settings);
        let line = format!(
            "s3://ourbucket/array: {host} says that the bucket is in the region eu-west-1: set s3.region to it"
        );
        assert_eq!(told, (ErrorKind::InvalidArgument, line));
    }
}

#[test]
fn redirects_say_where_they_lead() {
    let proxy = Proxy::start(CLOSED.parse().unwrap()).unwrap();
    let host = format!("127.0.0.1:{}", proxy.port());
    for (uri, area, more) in [
        ("s3://ourbucket/array", "s3", ", and s3.region to the bucket's region"),
        ("gs://ourbucket/array", "gcs", ""),
        ("az://ourbox/array", "azure", ""),
    ] {
        let with = Canned::xml(307, "")
            .header("location", &format!("https://user:s3cr3t-of-the-proxy@elsewhere:8443/b?sig={SECRET}"));
        proxy.set_rules([Rule::new(Fault::Answer { reaches: false, with })]);
        let settings = settings_of(uri, &format!("http://{host}"));
        let line = format!(
            "{uri}: {host} sends the request on to https://elsewhere:8443 (status 307), which is not followed: \
             set {area}.endpoint to where the store is{more}"
        );
        assert_eq!(told_of_list(uri, &settings), (ErrorKind::InvalidArgument, line));
        proxy.set_rules([Rule::new(Fault::Redirect(302))]);
        let line = format!(
            "{uri}: {host} sends the request on to http://{host} (status 302), which is not followed: \
             it sends everybody round in circles; check {area}.endpoint"
        );
        assert_eq!(told_of_list(uri, &settings), (ErrorKind::InvalidArgument, line));
    }
}

#[test]
fn nobody_at_the_endpoint_is_told_with_the_key_that_says_where() {
    for (uri, area) in
        [("s3://ourbucket/array", "s3"), ("gs://ourbucket/array", "gcs"), ("az://ourbox/array", "azure")]
    {
        let settings = settings_of(uri, &format!("http://{CLOSED}"));
        let (kind, line) = told_of_list(uri, &settings);
        let wanted = format!(
            "{uri}: input/output error: {CLOSED} could not be reached (Connection refused (os error 111)): \
             check {area}.endpoint, the network, and whether a proxy is needed"
        );
        assert_eq!((kind, line), (ErrorKind::Io, wanted));
        assert_eq!(told(uri, &settings).0, ErrorKind::Io);
    }
}

#[test]
fn a_proxy_that_is_not_there_is_named_without_its_password() {
    let mut settings = settings_of("s3://ourbucket/array", "http://127.0.0.1:2");
    settings.set("network.proxy", &format!("http://me:s3cr3t-of-the-proxy@{CLOSED}")).unwrap();
    let (kind, line) = told_of_list("s3://ourbucket/array", &settings);
    let wanted = format!(
        "s3://ourbucket/array: input/output error: 127.0.0.1:2 through the proxy http://(secret)@{CLOSED} of network.proxy, could not be reached \
         (Connection refused (os error 111)): check the proxy, s3.endpoint and the network"
    );
    assert_eq!((kind, line), (ErrorKind::Io, wanted));
}

#[test]
fn who_speaks_another_protocol_is_no_store() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let host = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let Ok(mut connection) = connection else { continue };
            let _ = connection.read(&mut [0; 64]);
            let _ = connection.write_all(b"SSH-2.0-OpenSSH_9.2\r\n");
        }
    });
    let (kind, line) =
        told_of_list("s3://ourbucket/array", &settings_of("s3://b/a", &format!("http://{host}")));
    assert_eq!(kind, ErrorKind::InvalidArgument, "{line}");
    assert!(line.contains(&format!("{host} does not speak HTTP")) && line.contains("s3.endpoint"), "{line}");
    let (kind, line) =
        told_of_list("s3://ourbucket/array", &settings_of("s3://b/a", &format!("https://{host}")));
    assert_eq!(kind, ErrorKind::InvalidArgument, "{line}");
    assert!(line.contains(&format!("{host} does not speak TLS")) && line.contains("http://"), "{line}");
}

#[test]
fn certificates_that_do_not_fit_are_told() {
    let of_this_machine = TlsServer::start(&["127.0.0.1"]);
    let of_another = TlsServer::start(&["elsewhere.example"]);
    let uri = "s3://ourbucket/array";
    let settings = settings_of(uri, &format!("https://{}", of_this_machine.host()));
    let line = format!(
        "{uri}: input/output error: {} has a certificate that is not trusted (invalid peer certificate: UnknownIssuer): \
         name a file with the certificate of whoever issued it in network.ca_file",
        of_this_machine.host()
    );
    assert_eq!(told_of_list(uri, &settings), (ErrorKind::Io, line));
    // Nobody asks again, as nothing would change.
    assert_eq!(of_this_machine.connection_count(), 1);

    let folder = tempfile::tempdir().unwrap();
    let trusting = |server: &TlsServer| {
        let file = folder.path().join("ca.pem");
        std::fs::write(&file, server.certificate()).unwrap();
        let mut settings = settings_of(uri, &format!("https://{}", server.host()));
        settings.set("network.ca_file", file.to_str().unwrap()).unwrap();
        settings
    };
    assert!(open(uri, &trusting(&of_this_machine)).unwrap().list("array").unwrap().is_empty());
    let (kind, line) = told_of_list(uri, &trusting(&of_another));
    assert_eq!(kind, ErrorKind::Io);
    assert!(line.contains("has a certificate that is not trusted") && line.contains("s3.endpoint"), "{line}");
    // HTTP where TLS is spoken.
    let plain = settings_of(uri, &format!("http://{}", of_this_machine.host()));
    let (_, line) = told_of_list(uri, &plain);
    assert!(line.contains(&of_this_machine.host()) && line.contains("https://"), "{line}");
}

#[test]
fn files_of_certificates_that_are_none_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let uri = "s3://ourbucket/array";
    let told_with = |path: &str| {
        let mut settings = settings_of(uri, &format!("http://{CLOSED}"));
        settings.set("network.ca_file", path).unwrap();
        told(uri, &settings)
    };
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let missing = path("missing.pem");
    let (kind, line) = told_with(&missing);
    assert_eq!(kind, ErrorKind::InvalidArgument, "{line}");
    assert!(line.contains(&missing) && line.contains("network.ca_file"), "{line}");
    for (name, content) in
        [("empty.pem", ""), ("text.pem", "no certificate"), ("cut.pem", pem("127.0.0.1").get(..90).unwrap())]
    {
        std::fs::write(path(name), content).unwrap();
        let (kind, line) = told_with(&path(name));
        assert_eq!(kind, ErrorKind::InvalidArgument, "{line}");
        assert!(line.contains(&path(name)) && line.contains("network.ca_file"), "{line}");
    }
}

#[test]
fn an_account_that_is_not_set_is_asked_for() {
    let (kind, line) = told("az://ourbox/array", &Settings::default());
    assert_eq!(kind, ErrorKind::InvalidArgument);
    assert!(line.contains("azure.account"), "{line}");
}
