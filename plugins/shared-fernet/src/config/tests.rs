use clap::Parser;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: SharedFernetArgs,
}

fn config(words: &[&str]) -> Result<Config, String> {
    let words = std::iter::once("plugin").chain(words.iter().copied());
    let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
    Config::resolve(line.args).map_err(|error| error.to_string())
}

#[test]
fn without_a_verb_it_compares() {
    for words in [
        &["a", "b"][..],
        &["compare", "a", "b"],
        &["-C", "a,b", "compare"],
    ] {
        let config = config(words).expect("the words are right");
        assert_eq!(config.operation, Operation::Compare);
        assert_eq!(config.scope.clusters, ["a", "b"], "{words:?}");
    }
}

#[test]
fn verbs_have_flags_of_their_own() {
    let operation = |words: &[&str]| config(words).map(|config| config.operation);
    assert_eq!(
        operation(&["sync", "--from", "a", "--replace"]),
        Ok(Operation::Sync(Sync {
            from: "a".to_owned(),
            replace: true,
        }))
    );
    assert_eq!(
        operation(&["rotate", "--resume"]),
        Ok(Operation::Rotate(Rotate {
            resume: true,
            rotated: false
        }))
    );
    assert_eq!(
        operation(&["verify", "--ciphertext", "-"]),
        Ok(Operation::Verify)
    );
    assert!(matches!(
        operation(&["generate", "--airflow", "3", "--values", "v.yaml"]),
        Ok(Operation::Generate(Generate {
            to: Destination::Values(_),
            ..
        }))
    ));
}

#[test]
fn places_are_mapped_once_per_selected_cluster() {
    let scope = config(&[
        "--map",
        "b=prod/airflow2",
        "--map",
        "c=airflow",
        "-n",
        "airflow",
    ])
    .expect("the words are right")
    .scope;
    assert_eq!(scope.namespaces_in("b"), ["prod"]);
    assert_eq!(scope.release_in("b"), Some("airflow2"));
    assert_eq!(scope.release_in("c"), None);
    assert_eq!(scope.namespaces_in("a"), ["airflow"]);
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let table = [
        (vec!["sync"], "--from"),
        (
            vec!["-C", "a,b", "sync", "--from", "c"],
            "not among the selected",
        ),
        (vec!["generate", "--airflow", "3"], "does not say where"),
        (
            vec!["generate", "--airflow", "4", "--stdout"],
            "possible values: 2, 3",
        ),
        (
            vec!["generate", "--airflow", "3", "--stdout", "--values", "f"],
            "cannot be used with",
        ),
        (
            vec!["generate", "--airflow", "3", "--stdout", "--name", "A B"],
            "lower-case",
        ),
        (vec!["verify"], "--ciphertext"),
        (
            vec!["verify", "--ciphertext", "gAAAAA"],
            "possible values: -",
        ),
        (vec!["--map", "b"], "does not say which"),
        (vec!["--map", "b="], "does not say which"),
        (vec!["--map", "b=x/y/z"], "does not say which"),
        (vec!["--map", "b=x", "--map", "b=y"], "given twice"),
        (vec!["a", "--map", "b=x"], "not among the selected"),
        (vec!["-C", "a,,b"], "empty"),
    ];
    for (words, part) in table {
        match config(&words) {
            Err(error) => assert!(error.contains(part), "{words:?}: {error}"),
            Ok(config) => panic!("{words:?}: {config:?}"),
        }
    }
}
