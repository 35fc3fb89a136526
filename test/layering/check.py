# SPDX-License-Identifier: Apache-2.0
"""Reads the #include lines of a source tree against layers.json, and looks for names of models in its code.

The functions take the root of a tree, so that the test can also run them on trees with planted faults.
"""
import fnmatch
import json
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
TREES = ("compiler", "codegen", "targets", "runtime_min")
CODE = (".cpp", ".h", ".hpp", ".c", ".cu", ".cuh", ".td", ".inc", ".mjs", ".js", ".ts", ".in")
INCLUDE = re.compile(r'^\s*(?:#\s*include|include)\s+(["<])([^">]+)[">]', re.M)
# One token at a time, so that a comment mark inside a string is no comment.
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
UPSTREAM = re.compile(r"^(mlir|llvm|llvm-c|mlir-c)/")


def sources(root, trees=TREES):
    for tree in trees:
        for path in sorted((root / tree).rglob("*")):
            if path.is_file() and path.suffix in CODE:
                yield path, path.relative_to(root).as_posix()


def is_test(name):
    folders, base = name.split("/")[:-1], name.split("/")[-1]
    return any(f in ("test", "tests") for f in folders) or re.fullmatch(
        r".*Tests?\.(cpp|h)|test\.cpp|bench\.cpp|TestMain\.cpp|(Test|Bench)Support\.(h|cpp)", base) is not None


def without_comments(text):
    return TOKEN.sub(lambda m: m.group(0) if m.group(0)[0] in "\"'" else " ", text)


def within(name, folder):
    """Is the path `name` the folder `folder` (which may hold `*`) or below it?"""
    parts = folder.split("/")
    return len(name.split("/")) > len(parts) - 1 and fnmatch.fnmatchcase("/".join(name.split("/")[: len(parts)]), folder)


def part_of(name, parts):
    """The row that covers a file: the longest folder, a spelled-out one before one with `*`."""
    rows = [row for row in parts if within(name, row) and name.count("/") >= row.count("/") + 1]
    return max(rows, key=lambda row: (row.count("/"), "*" not in row), default=None)


def own_folder(name, row):
    return "/".join(name.split("/")[: row.count("/") + 1])


def check_includes(root, layers=None):
    """Yields (file, message) for every arrow that is drawn backwards."""
    parts = (layers or json.loads((HERE / "layers.json").read_text()))["parts"]
    for path, name in sources(root):
        if is_test(name):
            continue
        row = part_of(name, parts)
        if row is None:
            yield name, "no row of test/layering/layers.json covers this folder"
            continue
        rule, own = parts[row], own_folder(name, row)
        for quote, target in INCLUDE.findall(path.read_text(errors="replace")):
            if UPSTREAM.match(target):
                mlir = target.startswith("mlir")
                if rule.get("no_llvm") or (mlir and rule.get("no_mlir")):
                    yield name, f"includes {target}; {row} must do without {'MLIR' if mlir else 'LLVM'}"
                continue
            if not any(within(target, tree) for tree in TREES):
                continue  # the standard library, a package, or a file in the same folder
            if within(target, own):
                continue
            allowed = any(within(target, folder) for folder in rule["may"])
            if not allowed or any(within(target, folder) for folder in rule.get("except", [])):
                yield name, f"includes {target}; {row} may know only {', '.join(rule['may']) or 'itself'}"


def check_names(root, patterns=None):
    """Yields (file, message) for every name of a model in code or strings; comments may name what was measured."""
    lines = patterns or (HERE / "names.txt").read_text().splitlines()
    names = re.compile("|".join(f"(?:{p})" for p in lines if p and not p.startswith("#")), re.I)
    for path, name in sources(root, ("compiler", "codegen", "targets")):
        if is_test(name):
            continue
        text = without_comments(path.read_text(errors="replace"))
        for number, line in enumerate(text.splitlines(), 1):
            for match in names.finditer(line):
                yield name, f"names a model or a case: {match.group(0)}"
