"""The Swift API: symbol graphs of the public modules, converted by DocC."""

import os
import pathlib
import shutil
import subprocess
import tempfile

# The modules that programs of others import.
MODULES = ["Feed", "FeedStore", "FeedVerification", "FeedClient"]


def run(*command):
    """Runs a command, and ends with its messages if it fails."""
    result = subprocess.run([str(word) for word in command], capture_output=True, encoding="utf-8")
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed: {result.stderr or result.stdout}")
    return result.stdout


def toolchain():
    """The folder of Swift's programs."""
    swift = shutil.which(os.environ.get("SWIFT", "swift").split()[0])
    if swift is None:
        raise SystemExit("there is no 'swift' in PATH; the Swift API needs it. Use --without-api for the pages alone")
    return pathlib.Path(swift).resolve().parent


def import_options(root):
    """Compiler options for a program that imports the modules as they are built in .build/debug."""
    build = root / ".build" / "debug"
    for module in MODULES:
        if not (build / "Modules" / f"{module}.swiftmodule").exists():
            raise SystemExit(f"{module} is not built; run: swift build")
    maps = [*root.glob("Sources/*/module.modulemap"), *root.glob("Sources/*/include/module.modulemap"), *build.glob("C*.build/module.modulemap")]
    options = [option for path in maps for option in ("-Xcc", f"-fmodule-map-file={path}")]
    return ["-I", build / "Modules", *options, *(option for path in root.glob("Sources/*/include") for option in ("-I", path))]


def symbol_graph(root, module, folder):
    """Writes the symbol graphs of a module that is built already."""
    triple = run(toolchain() / "swiftc", "-print-target-info").split('"unversionedTriple": "')[1].split('"')[0]
    run(
        toolchain() / "swift-symbolgraph-extract", "-module-name", module, "-target", triple, *import_options(root),
        "-minimum-access-level", "public", "-emit-extension-block-symbols", "-output-dir", folder)


def build_api(root, output, base):
    """Writes the API of all modules to a folder that is served under `base`."""
    docc = toolchain() / "docc"
    if not docc.exists():
        raise SystemExit(f"this toolchain has no {docc}. Use --without-api for the pages alone")
    with tempfile.TemporaryDirectory() as folder:
        archives = []
        for module in MODULES:
            graphs = pathlib.Path(folder) / module
            graphs.mkdir()
            symbol_graph(root, module, graphs)
            archives.append(pathlib.Path(folder) / f"{module}.doccarchive")
            run(
                docc, "convert", "--additional-symbol-graph-dir", graphs, "--fallback-display-name", module,
                "--fallback-bundle-identifier", f"feedstore.{module}", "--transform-for-static-hosting", "--hosting-base-path", base,
                "--output-path", archives[-1])
        shutil.rmtree(output, ignore_errors=True)
        run(docc, "merge", *archives, "--synthesized-landing-page-name", "FeedStore", "--output-path", output)
        # The page asks for this file, and reports its absence.
        (output / "theme-settings.json").write_text("{}\n")
