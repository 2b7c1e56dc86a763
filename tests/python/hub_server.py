"""A server on this machine that answers as huggingface.co does: a list of files, small files by a relative redirect, large ones (LFS) by
a redirect to another origin, digests in ETag and X-Linked-Etag, ranges. A test can make it lie."""

import contextlib
import hashlib
import http.server
import json
import re
import ssl
import subprocess
import threading
import time
import urllib.parse


def git_digest(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def certificate(folder):
    """A key and a certificate of localhost, signed by itself."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-keyout",
                    key, "-out", cert, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True)
    return key, cert


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        hub = self.server.hub
        at_home = self.server is hub.servers[0]
        asked = urllib.parse.urlsplit(self.path).path
        path = urllib.parse.unquote(asked)
        hub.log.append((at_home, self.command, self.path, dict(self.headers)))
        for pattern, (status, headers) in hub.answers.items():
            if at_home and re.search(pattern, path):
                return self.send(status, headers, b"what was asked for cannot be had")
        if not at_home:
            return self.content(hub.by_digest[path.strip("/")], {}, path.strip("/"))
        if match := re.fullmatch(r"/api/models/(.+)/revision/(.+)", path):
            return self.listing(*match.groups())
        if match := re.fullmatch(r"/api/resolve-cache/models/([^/]+/[^/]+)/([0-9a-f]{40})/(.+)", path):
            _, commit, file = match.groups()
            return self.content(hub.commits[commit][file], self.facts(commit, file), file)
        if match := re.fullmatch(r"/api/models/(.+)/tree/([^/]+)", asked):
            return self.tree(*map(urllib.parse.unquote, match.groups()))
        if match := re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", asked):  # the client writes "/" in a revision as %2F
            return self.resolve(*map(urllib.parse.unquote, match.groups()))
        self.send(404, {"X-Error-Code": "RepoNotFound"}, b"")

    def facts(self, commit, file):
        digest = self.server.hub.digests.get(file) or git_digest(self.server.hub.commits[commit][file])
        return {"X-Repo-Commit": commit, "ETag": f'"{digest}"'}

    def listing(self, name, revision):
        hub = self.server.hub
        commit = hub.refs.get(revision, revision)
        if name != hub.name or commit not in hub.commits:
            return self.send(404, {"X-Error-Code": "RepoNotFound" if name != hub.name else "RevisionNotFound"}, b"")
        files = [{"rfilename": file, "size": len(content)} for file, content in hub.commits[commit].items()]
        body = hub.listing if hub.listing is not None else json.dumps({"id": name, "sha": commit, "siblings": files}).encode()
        self.send(200, {"Content-Type": "application/json"}, body)

    def tree(self, name, revision):
        commit = self.server.hub.refs.get(revision, revision)
        files = [{"type": "file", "path": file, "size": len(content), "oid": git_digest(content)} for file, content in self.server.hub.commits[commit].items()]
        self.send(200, {"Content-Type": "application/json"}, json.dumps(files).encode())

    def resolve(self, name, revision, file):
        hub = self.server.hub
        commit = hub.refs.get(revision, revision)
        content = hub.commits.get(commit, {}).get(file)
        if content is None:
            return self.send(404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit}, b"")
        if not file.endswith((".safetensors", ".gguf", "tokenizer.json")):
            return self.send(307, {"Location": hub.locations.get(file, f"/api/resolve-cache/models/{name}/{commit}/{file}"), "X-Repo-Commit": commit}, b"")
        sha256 = hashlib.sha256(content).hexdigest()
        hub.by_digest[sha256] = content
        self.send(302, {"Location": hub.locations.get(file, f"{hub.urls[1]}/{sha256}"), "X-Repo-Commit": commit, "X-Linked-Size": len(content),
                        "X-Linked-Etag": f'"{hub.digests.get(file, sha256)}"', "ETag": '"of-the-redirect"'}, b"moved")

    def content(self, content, headers, file):
        hub = self.server.hub
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)?", self.headers.get("Range", ""))
        if not asked or hub.ignores_ranges:
            return self.send(200, headers, content, file)
        first, last = int(asked[1]), min(int(asked[2] or len(content)), len(content) - 1)
        size = hub.claims_size or len(content)
        self.send(206, {**headers, "Content-Range": f"bytes {first}-{last}/{size}"}, content[first:last + 1], file)

    def send(self, status, headers, body, file=""):
        hub = self.server.hub
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, str(value))
        if not hub.says_no_length:
            self.send_header("Content-Length", str(len(body)))
        cut = next((n for part, n in hub.cuts.items() if part in (file, self.path)), None)
        if hub.says_no_length or cut is not None:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        if self.command == "HEAD":
            return
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            if hub.seconds_a_byte:
                for byte in body:
                    if hub.stopping.wait(hub.seconds_a_byte):
                        return
                    self.wfile.write(bytes([byte]))
            self.wfile.write(body[:cut])


class Hub:
    """One model: `commits` {commit: {file: bytes}}, `refs` {revision: commit}."""

    def __init__(self, name, commits, refs, tls=None):
        self.name, self.commits, self.refs = name, commits, refs
        self.log = []             # (of the endpoint itself, method, path, headers)
        self.answers = {}         # pattern of a path: (status, headers), instead of what is there
        self.locations = {}       # file: where a redirect leads instead
        self.digests = {}         # file: what is announced instead of its digest
        self.cuts = {}            # file, or digest of a large one: after how many bytes the connection ends
        self.listing = None       # bytes instead of the list of files
        self.ignores_ranges = self.says_no_length = False
        self.claims_size, self.seconds_a_byte = 0, 0
        self.stopping = threading.Event()
        self.by_digest = {}
        self.servers = []
        for _ in range(2):  # the endpoint, and where large files are
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            server.daemon_threads, server.hub = True, self
            if tls:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(tls[1], tls[0])
                server.socket = context.wrap_socket(server.socket, server_side=True)
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
            self.servers.append(server)
        self.urls = [f"http{'s' if tls else ''}://localhost:{server.server_address[1]}" for server in self.servers]

    def close(self):
        self.stopping.set()
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def asked(self, text=""):
        """The requests whose path has this text."""
        return [entry for entry in self.log if text in entry[2]]


COMMITS = [hashlib.sha1(b"%d" % n).hexdigest() for n in range(3)]
