//! The page whose table is measured: the table is replaced, and nothing else of the page changes.

use super::*;

const BEGIN: &str = "<!-- generated: begin sweeps -->";
const END: &str = "<!-- generated: end sweeps -->";

#[test]
fn the_table_of_a_page_is_written_and_its_prose_is_left() {
    let folder = TempDir::new().unwrap();
    let page = folder.path().join("ladder.md");
    // The crate's own page, so that a mark that is lost there is found here.
    let own = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs")
        .join("ladder.md");
    let text_before = fs::read_to_string(own).unwrap();
    fs::write(&page, &text_before).unwrap();
    let short = ["ladder", "--bars", "600", "--runs", "2"];
    let arguments = with(&short, &["--engines", "m0,m1,m2,m4", "--doc", text(&page)]);
    succeed(&arguments);
    let text_after = fs::read_to_string(&page).unwrap();
    let parts = |text: &str| {
        let (before, rest) = text.split_once(BEGIN).unwrap();
        let (table, after) = rest.split_once(END).unwrap();
        [before, table, after].map(str::to_owned)
    };
    let ([before, old, after], [prose, table, rest]) = (parts(&text_before), parts(&text_after));
    assert_eq!((prose, rest), (before, after));
    assert_ne!(table, old);
    let columns = |line: &str| line.matches('|').count();
    let lines: Vec<&str> = table.lines().filter(|line| line.starts_with('|')).collect();
    assert!(
        lines.iter().all(|line| columns(line) == columns(lines[0])),
        "{table}"
    );
    // A head of two lines, four engines on the first grid, two on each of the others.
    assert_eq!(lines.len(), 2 + 4 + 2 + 2, "{table}");
    for part in [
        "--bars 600 --runs 2",
        "| 600 bars, 80 combinations (`hma:20..=200:20` x `hma3:24..=192:24`) |",
        "| 600 bars, 10,000 combinations (`hma:10..=208:2` x `hma3:12..=210:2`) |",
        "| 4,000 bars, 986 combinations (`hma:10..=208:6` x `hma3:12..=210:7`) |",
        " M0 | 1 |",
        " | 2 | ",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    // Again over its own table: as long as before.
    succeed(&arguments);
    let again = fs::read_to_string(&page).unwrap();
    assert_eq!(again.lines().count(), text_after.lines().count());
    assert_eq!(names_in(&folder), ["ladder.md"]);
}

#[test]
fn a_page_without_marks_is_refused_before_anything_is_measured() {
    let folder = TempDir::new().unwrap();
    let page = folder.path().join("page.md");
    let arguments = [
        "ladder",
        "--bars",
        "600",
        "--engines",
        "m2",
        "--doc",
        text(&page),
    ];
    assert!(fail(&arguments, 1).contains("page.md is not there: make the page first"));
    assert!(names_in(&folder).is_empty());
    fs::write(&page, format!("# Page\n{BEGIN}\n")).unwrap();
    let error = fail(&arguments, 1);
    assert!(
        error.contains("has no '<!-- generated: end sweeps -->'"),
        "{error}"
    );
    assert_eq!(
        fs::read_to_string(&page).unwrap(),
        format!("# Page\n{BEGIN}\n")
    );
}

/// Neither is the page read before its place is known, nor is anything measured before its lock is held.
#[cfg(unix)]
#[test]
fn a_page_that_cannot_be_replaced_is_refused_and_the_new_one_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TempDir::new().unwrap();
    let [pipe, link, page] = ["pipe.md", "link.md", "page.md"].map(|name| folder.path().join(name));
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
    let ladder = ["ladder", "--bars", "600", "--runs", "1", "--engines", "m2"];
    let refused = |page: &Path| {
        let output = crosscheck(&with(&ladder, &["--doc", text(page)]));
        assert_eq!(output.status.code(), Some(1));
        assert!(output.stdout.is_empty(), "measured for nothing");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refused(&pipe).contains("pipe.md is no regular file"));
    assert!(refused(&link).contains("link.md is a link"));
    assert!(refused(Path::new("/dev/zero")).contains("/dev/zero is no regular file"));
    fs::write(&page, format!("{BEGIN}\n{END}\n")).unwrap();
    let allow = |mode| fs::set_permissions(&page, fs::Permissions::from_mode(mode)).unwrap();
    allow(0o444);
    assert!(refused(&page).contains("page.md is read-only: make it writable"));
    allow(0o660);
    let lock = folder.path().join("page.md.partial.lock");
    fs::write(&lock, "mine").unwrap();
    assert!(refused(&page).contains("page.md.partial.lock is not empty"));
    fs::remove_file(lock).unwrap();
    succeed(&with(&ladder, &["--doc", text(&page)]));
    assert!(fs::read_to_string(&page).unwrap().contains("| M2 |"));
    let mode = fs::metadata(&page).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o660);
}
