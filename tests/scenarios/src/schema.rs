//! The published schema of reports.

use serde_json::Value;

/// Checks a report against the schema.
#[track_caller]
pub(crate) fn fits(report: &Value) {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("report.schema.json", schema).unwrap();
    let mut schemas = boon::Schemas::new();
    let schema = compiler
        .compile("report.schema.json", &mut schemas)
        .unwrap();
    if let Err(error) = schemas.validate(report, schema) {
        panic!("{error:#}\n{report:#}");
    }
}

const SCHEMA: &str = include_str!("../../../docs/report.schema.json");
