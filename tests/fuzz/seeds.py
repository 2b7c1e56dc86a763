"""What the scripts that write seeds of the fuzz targets share: where they stand, and safetensors."""

import copy
import hashlib
import json
import pathlib
import struct

CORPUS = pathlib.Path(__file__).parent / "corpus"
DEEP = 100_000  # brackets: more than a recursive reader has stack for
NESTED = 1000   # more than anyone needs


def keep(target, seeds):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def compact(header):
    return json.dumps(header, separators=(",", ":")).encode()


def safetensors(header, data=b""):
    """With the header as it is: a dict, or bytes that are no JSON."""
    header = header if isinstance(header, bytes) else compact(header)
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + data


def with_checksum(header, data):
    """The header with gnomon.sha256 over itself without it, and the data; the metadata sorted, as gnomon writes them."""
    header = copy.deepcopy(header)
    metadata = header.pop("__metadata__", {})
    metadata.pop("gnomon.sha256", None)
    metadata = dict(sorted(metadata.items()))
    digest = hashlib.sha256(compact({"__metadata__": metadata} | header) + data).hexdigest()
    return {"__metadata__": dict(sorted((metadata | {"gnomon.sha256": digest}).items()))} | header


def sealed(header, data):
    return safetensors(with_checksum(header, data), data)


def tensor(shape, begin, end, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def read_safetensors(path):
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    return json.loads(content[8:8 + length]), content[8 + length:]
