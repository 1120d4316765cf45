//! Proxies.

use super::canned::Answer;
use super::*;

#[test]
fn proxies_are_asked_for_all_hosts_but_those_without() {
    let proxy = Canned::new(|_| Answer::new(200, NOTHING));
    let address = proxy.address();
    let with_password = address.replace("http://", "http://user:hush@");
    let base = [("AWS_ENDPOINT_URL", CLOSED), ("AWS_ACCESS_KEY_ID", "ID"), ("AWS_SECRET_ACCESS_KEY", SECRET)];
    for variables in [
        vec![("HTTP_PROXY", with_password.as_str())],
        vec![("http_proxy", &with_password), ("HTTP_PROXY", CLOSED)],
        vec![("ALL_PROXY", &with_password), ("NO_PROXY", "example.com, 10.0.0.0/8")],
        vec![("SMALTI_NETWORK_PROXY", &with_password), ("HTTP_PROXY", CLOSED)],
        vec![("HTTP_PROXY", with_password.strip_prefix("http://").unwrap())],
    ] {
        open(&settings(&[&base[..], &variables].concat(), &[]), "s3://b/array").list("array").unwrap();
        let asked = proxy.asked();
        assert!(asked[0].target.starts_with("http://127.0.0.1:1/b?"), "{}", asked[0].target);
        assert_eq!(asked[0].header("proxy-authorization"), "Basic dXNlcjpodXNo");
    }
    for variables in [
        vec![("HTTPS_PROXY", with_password.as_str())],
        vec![("HTTP_PROXY", &with_password), ("NO_PROXY", "127.0.0.1")],
        vec![("HTTP_PROXY", &with_password), ("no_proxy", "*")],
    ] {
        let told = problem(&open(&settings(&[&base[..], &variables].concat(), &[]), "s3://b/array"));
        assert!(told.contains("could not be reached"), "{told}");
        assert_eq!(proxy.asked().len(), 0);
    }
}

#[test]
fn proxies_that_cannot_be_used_are_refused_without_their_password() {
    for bad in ["socks5://user:hush@host:1", "http://user:hush@", "http://user:hush@host:port"] {
        let told = Settings::default()
            .over_variables(&|name| Ok((name == "ALL_PROXY").then(|| bad.to_owned())))
            .unwrap_err()
            .to_string();
        assert!(told.contains("ALL_PROXY") && !told.contains(SECRET), "{told}");
    }
    let settings = settings(&[("HTTP_PROXY", "http://user:hush@999.1.1.1")], &[]);
    let told = ObjectStores::new(settings).open("s3", "b/array").unwrap_err().to_string();
    assert!(told.contains("network.http_proxy") && !told.contains(SECRET), "{told}");
}

#[test]
fn services_that_are_near_are_asked_without_a_proxy() {
    let (s3, proxy) =
        (Canned::new(|_| Answer::new(200, NOTHING)), Canned::new(|_| Answer::new(200, NOTHING)));
    let metadata = Canned::new(|_| Answer::new(404, ""));
    let (s3_address, address, service) = (s3.address(), proxy.address(), metadata.address());
    let variables = [
        ("AWS_ENDPOINT_URL", s3_address.as_str()),
        ("HTTP_PROXY", &address),
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", &service),
    ];
    open(&settings(&variables, &[]), "s3://b/array").list("array").unwrap();
    assert_eq!(metadata.asked().len(), 1);
    assert_eq!((proxy.asked().len(), s3.asked().len()), (1, 0));
}
