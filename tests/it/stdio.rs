//! The built program over its pipes.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::client::{ERAS, Era, Process, message, request};

/// What a log must never hold.
const CANARY: &str = "canary-7f3a";

#[test]
fn standard_output_is_messages_alone_and_the_log_holds_no_argument() {
    for era in ERAS {
        let (mut server, _) = Process::open(era, &[("RUST_LOG", "trace")]);
        server.ask(&request(era, 1, "tools/list", json!({})));
        let arguments = json!({ "path": CANARY, CANARY: CANARY });
        server.ask(&request(era, 2, "tools/call", json!({ "name": "read_file", "arguments": arguments })));
        server.ask(&request(era, 3, "nothing/known", json!({ "name": CANARY })));
        server.send(&format!("{CANARY}\n[\"{CANARY}\"]"));
        let ending = server.close();
        assert_eq!(ending.code, Some(0));
        assert_eq!(
            ending.rest.iter().map(|line| message(line)["error"]["code"].clone()).collect::<Vec<_>>(),
            [-32700, -32600]
        );
        assert!(!ending.log.is_empty());
        assert!(!ending.log.contains(CANARY), "{}", ending.log);
    }
}

#[test]
fn the_log_is_empty_when_nothing_is_wrong() {
    let (server, _) = Process::open(Era::Modern, &[]);
    assert_eq!(server.close().log, "");
}

#[test]
fn the_end_of_the_input_is_success_before_and_after_the_first_message() {
    assert_eq!(Process::spawn(&[], &[]).close().code, Some(0));
    for era in ERAS {
        assert_eq!(Process::open(era, &[]).0.close().code, Some(0));
    }
}

#[test]
fn signals_end_the_server_before_and_after_the_first_message() {
    for (signal, code) in [(Signal::TERM, 0), (Signal::INT, 130)] {
        let early = Process::spawn(&["serve"], &[]);
        early.wait_for_signals();
        early.signal(signal);
        assert_eq!(early.wait().code, Some(code));
        for era in ERAS {
            let (open, _) = Process::open(era, &[]);
            open.signal(signal);
            assert_eq!(open.wait().code, Some(code));
        }
    }
}

#[test]
fn a_client_that_died_ends_the_server() {
    let (mut server, _) = Process::open(Era::Modern, &[]);
    server.send(&request(Era::Modern, 1, "tools/list", json!({})).to_string());
    assert_eq!(server.abandon(), Some(0));
}

#[test]
fn a_line_that_is_no_json_is_answered_and_the_next_one_served() {
    for era in ERAS {
        let (mut server, _) = Process::open(era, &[]);
        server.send("{\"jsonrpc\":\"2.0\",\"id\":1,");
        let answer = server.receive();
        assert_eq!(answer.get("id"), Some(&Value::Null));
        assert_eq!(answer["error"]["code"], -32700);
        assert!(server.ask(&request(era, 2, "tools/list", json!({})))["result"]["tools"].is_array());
    }
}

#[test]
fn an_over_long_line_is_answered_with_its_id_and_the_next_one_served() {
    let era = Era::Modern;
    let (mut server, _) = Process::open(era, &[]);
    let padding = "a".repeat(64_000_000);
    server.send(&format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":\"long\",\"method\":\"tools/call\",\"params\":\"{padding}\"}}"
    ));
    let answer = server.receive();
    assert_eq!(answer["id"], "long");
    assert_eq!(answer["error"]["code"], -32600);
    assert_eq!(answer["error"]["data"]["reason"], "request_too_large");
    assert_eq!(answer["error"]["data"]["capInBytes"], 63_963_136);
    assert!(server.ask(&request(era, 2, "tools/list", json!({})))["result"]["tools"].is_array());
}

#[test]
fn a_line_of_many_megabytes_that_is_not_too_long_is_served() {
    let era = Era::Modern;
    let (mut server, _) = Process::open(era, &[]);
    let arguments = json!({ "content": "a".repeat(20_000_000) });
    let answer =
        server.ask(&request(era, 1, "tools/call", json!({ "name": "nobody", "arguments": arguments })));
    assert_eq!(answer["error"]["code"], -32602);
}

#[test]
fn the_version_names_the_target() {
    let ending = Process::spawn(&["--version"], &[]).close();
    assert_eq!(ending.code, Some(0));
    let [line] = &ending.rest[..] else { panic!("{:?}", ending.rest) };
    assert!(line.starts_with("vaultwright ") && line.contains("linux"), "{line}");
}

#[test]
fn wrong_usage_is_told_to_people_and_ends_with_2() {
    for arguments in [&["--no-such-flag"][..], &["call"], &["call", "nobody"], &["call", "nobody", "{"]] {
        let ending = Process::spawn(arguments, &[]).close();
        assert_eq!(ending.code, Some(2), "{arguments:?}");
        assert_eq!(ending.rest, [""; 0]);
        assert!(!ending.log.is_empty());
    }
}

#[test]
fn wrong_usage_is_json_where_that_is_asked_for_before_or_after_the_command() {
    for arguments in [["--json", "call", "nobody"], ["call", "nobody", "--json"]] {
        let ending = Process::spawn(&arguments, &[]).close();
        assert_eq!((ending.code, &*ending.log), (Some(2), ""));
        let answer: Value = serde_json::from_str(&ending.rest[0]).unwrap();
        let error = &answer["error"];
        assert_eq!((&error["code"], &error["data"]["reason"]), (&json!(-32602), &json!("invalid_arguments")));
        assert_eq!(error["message"], "tool not found. Nothing was written.");
    }
}

#[test]
fn what_comes_before_the_first_request_is_passed_over() {
    for line in [
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9 } }),
        json!({ "jsonrpc": "2.0", "id": 3, "result": {} }),
    ] {
        let mut process = Process::spawn(&[], &[]);
        process.send(&line.to_string());
        let answer = process.ask(&request(Era::Modern, 1, "tools/list", json!({})));
        assert!(answer["result"]["tools"].is_array(), "{answer}");
        assert_eq!(process.close().code, Some(0));
    }
}

#[test]
fn a_known_method_with_misshapen_parameters_is_not_an_unknown_method() {
    let (mut process, _) = Process::open(Era::Modern, &[]);
    for params in [json!({ "name": "read_file", "arguments": [] }), json!({ "arguments": {} })] {
        let answer = process.ask(&request(Era::Modern, 7, "tools/call", params));
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32602), &json!(7)), "{answer}");
    }
    assert_eq!(process.close().code, Some(0));
}
