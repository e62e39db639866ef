"""A small identity provider of the tests, which serves its keys over HTTPS."""

import http.server
import json
import ssl
import threading


class IdentityProvider:
    """A context, which refuses connections before and after.

    `answers` has what is served at each path: status, headers and content, or None to say nothing.
    """

    def __init__(self, authority):
        self.answers = {}
        self.requests = []
        self._end = threading.Event()
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                provider.requests.append(self.path)
                answer = provider.answers.get(self.path, (404, {}, b""))
                if answer is None:
                    provider._end.wait()
                    return
                status, headers, content = answer
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                """Clients that end a connection early are part of the tests."""

        self._server = Server(("127.0.0.1", 0), Handler, bind_and_activate=False)
        self._server.server_bind()
        certificate, key = authority.issue("provider")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self._server.server_address[1]
        self.url = f"https://127.0.0.1:{self.port}"

    def __enter__(self):
        self._server.server_activate()
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._server.shutdown()
        self._server.server_close()

    def serve(self, path, content, status=200, **headers):
        text = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.answers[path] = (status, {"Content-Type": "application/json", **headers}, text)

    def serve_keys(self, *keys, path="/keys"):
        self.serve(path, {"keys": keys})
