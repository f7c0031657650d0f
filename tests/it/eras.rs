//! The same facts in both eras of the protocol.

use serde_json::json;

use crate::{
    client::{Client, ERAS, Era, Process, request},
    vault::vault,
};

#[tokio::test]
async fn both_eras_are_told_the_same() {
    let vault = vault("");
    let modern = Client::open(vault.state(), Era::Modern).await;
    let legacy = Client::open(vault.state(), Era::Legacy).await;
    assert_eq!(json!(modern.tools().await), json!(legacy.tools().await));
    let (modern, legacy) = (modern.server(), legacy.server());
    assert_eq!(modern.instructions, legacy.instructions);
    assert_eq!(modern.server_info, legacy.server_info);
    assert_eq!(modern.capabilities, legacy.capabilities);
    assert_eq!(modern.protocol_version.as_str(), "2026-07-28");
    assert_eq!(legacy.protocol_version.as_str(), "2025-11-25");
}

#[tokio::test]
async fn a_name_nobody_knows_is_a_protocol_error() {
    let vault = vault("");
    for era in ERAS {
        let client = Client::open(vault.state(), era).await;
        let error = client.try_call("nobody", json!({})).await.unwrap_err();
        assert!(matches!(error, rmcp::ServiceError::McpError(error) if error.code.0 == -32602));
    }
}

#[test]
fn what_we_are_may_be_kept_for_an_hour() {
    let (_server, facts) = Process::open(Era::Modern, &[]);
    assert_eq!(facts["ttlMs"], 3_600_000);
    assert_eq!(facts["cacheScope"], "private");
    assert_eq!(facts["capabilities"], json!({ "tools": {} }));
    assert_eq!(facts["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "vaultwright");
}

#[test]
fn older_revisions_are_agreed_on() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut server = Process::spawn(&[], &[]);
        let opening = json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let answer = server.ask(&request(Era::Legacy, 1, "initialize", opening));
        assert_eq!(answer["result"]["protocolVersion"], version);
    }
}

#[test]
fn a_modern_list_names_its_server_and_its_life() {
    let (mut server, _) = Process::open(Era::Modern, &[]);
    let result = server.ask(&request(Era::Modern, 1, "tools/list", json!({})))["result"].clone();
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "vaultwright");
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(3_600_000), &json!("public")));
    assert_eq!(result["resultType"], "complete");
}

#[test]
fn what_is_not_offered_is_no_method() {
    for (era, methods) in [
        (Era::Modern, &["prompts/list", "resources/list", "ping"][..]),
        (Era::Legacy, &["prompts/list", "resources/list"]),
    ] {
        let (mut server, _) = Process::open(era, &[]);
        for (id, method) in (1..).zip(methods) {
            let answer = server.ask(&request(era, id, method, json!({})));
            assert_eq!(answer["error"]["code"], -32601, "{method}");
        }
    }
}
