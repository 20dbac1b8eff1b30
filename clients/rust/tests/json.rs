//! Tests of the JSON reader.

use snowgrid::json::{quote, read, Value};

#[test]
fn json() {
    let v = read(" {\"a\":[1,-2,true,null,{}, 1.5e3],\"b\\u0041\\n\":\"\\ud83d\\ude00\\\"\"} ");
    let v = v.unwrap();
    let a = vec![
        Value::Int(1),
        Value::Int(-2),
        Value::Bool(true),
        Value::Null,
        Value::Object(vec![]),
        Value::Float(1500.0),
    ];
    assert_eq!(v.get("a"), Some(&Value::List(a)));
    assert_eq!(v.text("bA\n"), Some("\u{1f600}\""));
    assert_eq!(quote("a\"\\\n\u{e9}"), "\"a\\u0022\\u005c\\u000a\u{e9}\"");
    for bad in
        ["", "{", "[1,]", "{\"a\"}", "\"", "\"\\x\"", "\"\\u12", "01x", "1 2", "\"\\u\u{e9}0\""]
    {
        assert!(read(bad).unwrap_err().starts_with("JSON: "), "{bad}");
    }
    assert!(read(&"[".repeat(99)).is_err());
}
