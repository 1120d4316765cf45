//! Handles that are null, of another kind or freed are errors for every function that takes one, and no signals.
//!
//! The calls are written from the headers, as a program in C: each function is called in a process of its own.
#![forbid(unsafe_code)]

use std::fmt::Write as _;
use std::fs;

// The library itself is built beside this test.
use tiledb as _;

#[allow(dead_code, reason = "other tests use the rest")]
mod common;

use common::{C, HEADERS, Workshop, assert_went_well, declarations, exported};

/// Where null is no error: configurations that are left out, and a query that has nothing to finalize.
const MAY_BE_NULL: [&str; 4] = [
    "tiledb_ctx_alloc config null",
    "tiledb_ctx_alloc_with_error config null",
    "tiledb_query_finalize query null",
    "tiledb_vfs_alloc config null",
];

struct Parameter {
    /// The type, with its stars.
    declared: String,
    name: String,
}

impl Parameter {
    fn new(text: &str) -> Parameter {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((before, after)) = text.split_once("(*") {
            let (name, rest) = after.split_once(')').unwrap();
            return Parameter { declared: format!("{before}(*){rest}"), name: name.to_owned() };
        }
        let (text, stars) = text.strip_suffix("[]").map_or((text.as_str(), ""), |text| (text, "*"));
        let end = text.rfind(|c: char| !c.is_alphanumeric() && c != '_').unwrap() + 1;
        Parameter { declared: format!("{}{stars}", text[..end].trim_end()), name: text[end..].to_owned() }
    }

    /// The kind of a handle, without prefix and suffix, and the number of stars.
    fn kind(&self) -> Option<(&str, usize)> {
        let stars = self.declared.matches('*').count();
        let word = self.declared.trim_start_matches("const ").trim_end_matches('*');
        let kind = word.strip_prefix("tiledb_")?.strip_suffix("_t")?;
        let is_handle = stars > 0 && kind != "range" && kind != "query_status_details";
        let is_enumeration = !declarations("tiledb_types.h").contains(&format!(" {word};"));
        (is_handle && !is_enumeration).then_some((kind, stars))
    }

    /// The kind of a handle that goes in.
    fn taken(&self) -> Option<&str> {
        self.kind().filter(|(_, stars)| *stars == 1).map(|(kind, _)| kind)
    }

    /// Something that fits, in C.
    fn argument(&self) -> String {
        let declared = self.declared.as_str();
        match self.taken() {
            Some("ctx") => "ctx".to_owned(),
            Some(kind) => format!("new_{kind}()"),
            None if declared == "const char*" => "\"a\"".to_owned(),
            None if declared == "FILE*" => "stderr".to_owned(),
            None if declared.contains("(*)") || declared.contains("_callback_") => {
                format!("({declared})ignored")
            }
            None if declared.ends_with('*') => "place()".to_owned(),
            None => format!("({declared})0"),
        }
    }
}

struct Function {
    name: String,
    returned: String,
    parameters: Vec<Parameter>,
}

impl Function {
    fn new(statement: &str) -> Option<Function> {
        let text = exported(statement)?.rsplit_once(')')?.0.to_owned();
        let (head, arguments) = text.split_once('(')?;
        let (returned, name) = head.rsplit_once(' ')?;
        let mut depth = 0;
        let pieces = arguments.split(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0 && c == ','
        });
        let parameters = pieces.filter(|piece| piece.trim() != "void").map(Parameter::new).collect();
        Some(Function { name: name.to_owned(), returned: returned.to_owned(), parameters })
    }

    /// A call with a freed handle. What else it takes is made before, or it could be where the freed one was.
    fn call_with_freed(&self, changed: usize, kind: &str, star: &str) -> String {
        let mut text = format!(
            "    {{\n    tiledb_{kind}_t* freed = new_{kind}();\n    tiledb_{kind}_t* kept = freed;\n"
        );
        let mut arguments: Vec<_> = self.parameters.iter().map(Parameter::argument).collect();
        for (idx, parameter) in self.parameters.iter().enumerate() {
            let Some(kind) = parameter.taken().filter(|kind| idx != changed && *kind != "ctx") else {
                continue;
            };
            writeln!(text, "    const tiledb_{kind}_t* made_{idx} = new_{kind}();").unwrap();
            arguments[idx] = format!("(tiledb_{kind}_t*)made_{idx}");
        }
        arguments[changed] = format!("{star}freed");
        let free = match kind {
            "query_channel" | "query_field" | "channel_operation" => format!("free_{kind}(&kept)"),
            _ => format!("FREE({kind}, &kept)"),
        };
        writeln!(text, "    {free};").unwrap();
        text.push_str(&self.call_of(changed, "freed", &arguments));
        text + "    }\n"
    }

    /// A call in which one parameter is something else.
    fn call(&self, changed: usize, how: &str, argument: &str) -> String {
        let arguments: Vec<_> = (self.parameters.iter().enumerate())
            .map(|(idx, parameter)| if idx == changed { argument.to_owned() } else { parameter.argument() })
            .collect();
        self.call_of(changed, how, &arguments)
    }

    fn call_of(&self, changed: usize, how: &str, arguments: &[String]) -> String {
        let call = format!("{}({})", self.name, arguments.join(", "));
        let kind = if self.returned == "void" { "CALL_VOID" } else { "CALL" };
        format!("    {kind}(\"{} {} {how}\", {call});\n", self.name, self.parameters[changed].name)
    }

    /// The calls with wrong handles, one place after the other, as the content of a function in C.
    fn calls(&self) -> String {
        let mut text = String::new();
        for (idx, parameter) in self.parameters.iter().enumerate() {
            let Some((kind, stars)) = parameter.kind() else { continue };
            let declared = format!("tiledb_{kind}_t*");
            let is_freed = self.name.ends_with("_free") && stars == 2;
            if stars != 1 && !is_freed {
                continue;
            }
            text.push_str(&self.call(idx, "null", "NULL"));
            let (open, star) = if is_freed { ("&wrong", "&") } else { ("wrong", "") };
            write!(text, "    {{\n    {declared} wrong = ({declared})other_than(\"{kind}\");\n").unwrap();
            text.push_str(&self.call(idx, "other", open));
            text.push_str("    }\n");
            if is_freed {
                write!(text, "    {{\n    {declared} wrong = NULL;\n").unwrap();
                text.push_str(&self.call(idx, "empty", open));
                text.push_str("    }\n");
            }
            // An operator is a constant.
            if kind != "channel_operator" {
                text.push_str(&self.call_with_freed(idx, kind, star));
            }
        }
        text
    }
}

/// The program that makes all the calls.
fn program(functions: &[Function]) -> String {
    let mut text = String::from("#include \"handles.h\"\n\n");
    let mut main = String::from(
        "int main(int argument_count, char** arguments) {\n    (void)argument_count;\n    folder = arguments[1];\n    apart(prepare);\n",
    );
    for function in functions {
        let calls = function.calls();
        if calls.is_empty() {
            continue;
        }
        write!(text, "static void on_{}(void) {{\n{calls}}}\n\n", function.name).unwrap();
        writeln!(main, "    apart(on_{});", function.name).unwrap();
    }
    text + &main + "    return 0;\n}\n"
}

#[test]
fn handles_that_are_null_or_of_another_kind_or_freed_are_errors() {
    let text: String = HEADERS.map(declarations).join("\n");
    let functions: Vec<_> = text.split(';').filter_map(Function::new).collect();
    assert_eq!(functions.len(), 514);
    let workshop = Workshop::new();
    let source = workshop.folder().join("handles.c");
    fs::write(&source, program(&functions)).unwrap();
    let output = workshop.run(&workshop.compiled(&source, C));
    assert_went_well(&output, "the program");
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut found: Vec<&str> = Vec::new();
    let mut calls = 0;
    for line in printed.lines() {
        let (call, outcome) = line.split_once(": ").unwrap_or((line, ""));
        calls += 1;
        let is_error = outcome == "nothing" || outcome.parse::<i32>().is_ok_and(|code| code < 0);
        if !is_error && !MAY_BE_NULL.contains(&call) {
            found.push(line);
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(calls > 2000, "{calls}");
}
