"""Runs a command with PyPI's newest librdkafka: `python3 Tests/SuiteRunner/newest_librdkafka.py -- COMMAND…`.

The wheel of confluent-kafka contains it. The built `feedstore` and the tests load it instead of the installed one.
"""

import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".build" / "librdkafka"
FEEDSTORE = ROOT / ".build" / "debug" / "feedstore"
# The name by which programs need it.
NAME = "librdkafka.so.1"


def fetch():
    """Writes the library, with others that it may need, and gives it the name that programs need."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", folder, "confluent-kafka"]
        if subprocess.run([sys.executable, *command]).returncode != 0:
            raise SystemExit("confluent-kafka cannot be fetched from PyPI; check the network, and that pip is installed")
        (wheel,) = pathlib.Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.startswith("confluent_kafka.libs/")]
            archive.extractall(FOLDER / wheel.stem, names)
    libraries = [name for name in names if "/librdkafka" in name]
    if len(libraries) != 1:
        raise SystemExit(f"{wheel.name} contains no librdkafka, or several, under confluent_kafka.libs: {', '.join(names)}")
    (FOLDER / NAME).unlink(missing_ok=True)
    (FOLDER / NAME).symlink_to(FOLDER / wheel.stem / libraries[0])


def check(environment):
    """Checks that the built command loads the library and what that needs; returns its version."""
    loaded = subprocess.run(["ldd", FEEDSTORE], env=environment, check=True, capture_output=True, text=True).stdout
    found = re.search(rf"{re.escape(NAME)} => (\S+)", loaded)
    if "not found" in loaded or not found or not os.path.samefile(found[1], FOLDER / NAME):
        raise SystemExit(f"{FEEDSTORE} does not load {FOLDER / NAME}, or something that it needs is missing:\n{loaded}")
    version_text = ctypes.CDLL(str(FOLDER / NAME)).rd_kafka_version_str
    version_text.restype = ctypes.c_char_p
    version = version_text().decode()
    told = subprocess.run([FEEDSTORE, "--version"], env=environment, check=True, capture_output=True, text=True).stdout
    if f"librdkafka {version})" not in told:
        raise SystemExit(f"the library is librdkafka {version}, but feedstore --version says: {told}")
    return version


def main():
    command = sys.argv[sys.argv.index("--") + 1 :]
    fetch()
    paths = [str(FOLDER), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    environment = os.environ | {"LD_LIBRARY_PATH": ":".join(paths)}
    print(f"with librdkafka {check(environment)}: {' '.join(command)}", flush=True)
    os.execvpe(command[0], command, environment)


if __name__ == "__main__":
    main()
