"""Temporary certificates for the tests, made with `openssl`."""

import functools
import pathlib
import subprocess


def _openssl(*arguments):
    result = subprocess.run(["openssl", *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(f"openssl {arguments[0]}: {result.stderr}")


class Authority:
    """Signs certificates. Keys use elliptic curves, which are fast to generate."""

    def __init__(self, folder, name):
        self.folder = pathlib.Path(folder)
        self.name = name
        self.certificate = self.folder / f"{name}.crt"
        self._key = self.folder / f"{name}.key"
        self._serial = 0
        _make_key(self._key)
        _openssl("req", "-x509", "-new", "-key", self._key, "-subj", f"/CN={name}", "-days", 2, "-out", self.certificate)

    @functools.cache
    def issue(self, name, hosts="IP:127.0.0.1,DNS:localhost", is_expired=False):
        """Returns the files of a certificate and its key."""
        key, request, extensions, certificate = (
            self.folder / f"{self.name}-{name}.{end}" for end in ("key", "csr", "ext", "crt")
        )
        _make_key(key)
        _openssl("req", "-new", "-key", key, "-subj", f"/CN={name}", "-out", request)
        extensions.write_text(f"subjectAltName={hosts}\n")
        self._serial += 1
        common = ("-in", request, "-extfile", extensions, "-out", certificate)
        if is_expired:
            # `openssl x509` cannot sign an expired certificate; `openssl ca` can.
            self._issue_expired(request, extensions, certificate)
        else:
            _openssl(
                "x509", "-req", *common, "-CA", self.certificate, "-CAkey", self._key, "-set_serial", self._serial, "-days", 1
            )
        return certificate, key

    def _issue_expired(self, request, extensions, certificate):
        configuration = self.folder / f"{self.name}.cnf"
        (self.folder / f"{self.name}.index").write_text("")
        (self.folder / f"{self.name}.serial").write_text("FF01\n")
        configuration.write_text(
            f"""[ca]
default_ca = this
[this]
database = {self.folder}/{self.name}.index
serial = {self.folder}/{self.name}.serial
new_certs_dir = {self.folder}
certificate = {self.certificate}
private_key = {self._key}
default_md = sha256
policy = any
[any]
commonName = supplied
"""
        )
        _openssl(
            "ca", "-batch", "-notext", "-config", configuration, "-in", request, "-extfile", extensions, "-out", certificate,
            "-startdate", "20200101000000Z", "-enddate", "20200102000000Z",
        )


def _make_key(path):
    _openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path)
    path.chmod(0o600)
