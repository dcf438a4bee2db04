"""A Sigstore instance on this machine: its CA, its logs, its trust config. Nobody checks tokens.

What clients speak with: Fulcio's ``signingCert`` and Rekor's ``log/entries`` (both of version 1).
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import rfc8785
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

ISSUER = "https://issuer.invalid"
_ISSUER_OID = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
_SCT_OID = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
_START = "2020-01-01T00:00:00Z"


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def token(identity: str) -> str:
    """An unsigned token that says who asks."""
    now = int(dt.datetime.now(dt.UTC).timestamp())
    claims = {
        "aud": "sigstore", "iss": ISSUER, "sub": identity, "iat": now, "exp": now + 600,
    }  # fmt: skip
    parts = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
        for part in ({"alg": "none", "typ": "JWT"}, claims)
    ]
    return ".".join((*parts, "e30"))


class Instance:
    """Its keys. ``url`` is set when it listens."""

    def __init__(self) -> None:
        self._ca, self._ct, self._rekor = (ec.generate_private_key(ec.SECP256R1()) for _ in "123")
        self._root = self._issued("root", self._ca.public_key(), ca=True)
        self.url = ""

    def config(self) -> dict[str, Any]:
        """Sigstore's client trust config."""
        service = {
            "url": self.url,
            "majorApiVersion": 1,
            "validFor": {"start": _START},
            "operator": "x",
        }
        return {
            "mediaType": "application/vnd.dev.sigstore.clienttrustconfig.v0.1+json",
            "trustedRoot": self.trusted_root(),
            "signingConfig": {
                "mediaType": "application/vnd.dev.sigstore.signingconfig.v0.2+json",
                "caUrls": [service],
                "oidcUrls": [],
                "rekorTlogUrls": [service],
                "tsaUrls": [],
                "rekorTlogConfig": {"selector": "ANY"},
                "tsaConfig": {"selector": "ANY"},
            },
        }

    def trusted_root(self) -> dict[str, Any]:
        """Its public keys, as a file of trusted roots has them."""
        root = self._root.public_bytes(Encoding.DER)
        return {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "certificateAuthorities": [
                {
                    "subject": {"organization": "test", "commonName": "root"},
                    "uri": self.url,
                    "certChain": {"certificates": [{"rawBytes": _b64(root)}]},
                    "validFor": {"start": _START},
                }
            ],
            "tlogs": [self._log(self._rekor)],
            "ctlogs": [self._log(self._ct)],
            "timestampAuthorities": [],
        }

    def _log(self, key: ec.EllipticCurvePrivateKey) -> dict[str, Any]:
        return {
            "baseUrl": self.url,
            "hashAlgorithm": "SHA2_256",
            "publicKey": {
                "rawBytes": _b64(_der(key)),
                "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                "validFor": {"start": _START},
            },
            "logId": {"keyId": _b64(_id(key))},
        }

    def _issued(
        self, name: str, key: Any, *, ca: bool = False, like: x509.Certificate | None = None,
        more: tuple[tuple[x509.ExtensionType, bool], ...] = (),
    ) -> x509.Certificate:  # fmt: skip
        now = dt.datetime.now(dt.UTC)
        who = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)] if ca else [])
        root = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "root")])
        start = like.not_valid_before_utc if like else now - dt.timedelta(minutes=1)
        made = (
            x509.CertificateBuilder()
            .subject_name(who)
            .issuer_name(root)
            .public_key(key)
            .serial_number(like.serial_number if like else x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(start + dt.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(_usage(ca=ca), critical=True)
        )
        if ca:
            identifier = x509.SubjectKeyIdentifier.from_public_key(key)
            made = made.add_extension(identifier, critical=False)
        else:
            uri = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(name)])
            issuer = x509.UnrecognizedExtension(_ISSUER_OID, ISSUER.encode())
            usage = x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.CODE_SIGNING])
            above = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._ca.public_key())
            own = ((uri, True), (issuer, False), (usage, False), (above, False))
            for extension, critical in (*own, *more):
                made = made.add_extension(extension, critical)
        return made.sign(self._ca, hashes.SHA256())

    def signing_cert(self, asked: dict[str, Any], bearer: str) -> dict[str, Any]:
        """Fulcio's answer: a certificate for whom the token names, with its SCT."""
        claims = bearer.split(".")[1]
        identity = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["sub"]
        csr = x509.load_pem_x509_csr(base64.b64decode(asked["certificateSigningRequest"]))
        first = self._issued(identity, csr.public_key())
        stamp = int(first.not_valid_before_utc.timestamp() * 1000)
        entry = first.tbs_certificate_bytes
        signed = struct.pack("!BBQH", 0, 0, stamp, 1) + _id(self._ca)
        signed += len(entry).to_bytes(3, "big") + entry + b"\0\0"
        signature = self._ct.sign(signed, ec.ECDSA(hashes.SHA256()))
        sct = b"\0" + _id(self._ct) + struct.pack("!Q", stamp) + b"\0\0\x04\x03"
        sct += struct.pack("!H", len(signature)) + signature
        listed = struct.pack("!HH", len(sct) + 2, len(sct)) + sct
        octets = bytes([4, len(listed)]) + listed  # shorter than 128 bytes
        assert len(listed) < 128
        extension = (x509.UnrecognizedExtension(_SCT_OID, octets), False)
        leaf = self._issued(identity, csr.public_key(), like=first, more=(extension,))
        chain = [one.public_bytes(Encoding.PEM).decode() for one in (leaf, self._root)]
        return {"signedCertificateEmbeddedSct": {"chain": {"certificates": chain}}}

    def log_entry(self, asked: dict[str, Any], _bearer: str) -> dict[str, Any]:
        """Rekor's answer: the entry in a log that has no other one."""
        proposed = asked["spec"]["proposedContent"]
        envelope = json.loads(proposed["envelope"])
        payload = base64.b64decode(envelope["payload"])
        body = {
            "apiVersion": "0.0.1",
            "kind": "dsse",
            "spec": {
                "envelopeHash": _hash(proposed["envelope"].encode()),
                "payloadHash": _hash(payload),
                "signatures": [
                    {"signature": one["sig"], "verifier": proposed["verifiers"][0]}
                    for one in envelope["signatures"]
                ],
            },
        }
        data = rfc8785.dumps(body)
        now = int(dt.datetime.now(dt.UTC).timestamp())
        entry = {
            "body": _b64(data), "integratedTime": now, "logIndex": 0,
            "logID": _id(self._rekor).hex(),
        }  # fmt: skip
        root = sha256(b"\0" + data).digest()
        note = f"log.invalid - 1\n1\n{_b64(root)}\n"
        line = _b64(_id(self._rekor)[:4] + self._sign(note.encode()))
        proof = {
            "checkpoint": f"{note}\n\u2014 log.invalid {line}\n",
            "hashes": [], "logIndex": 0, "rootHash": root.hex(), "treeSize": 1,
        }  # fmt: skip
        promise = _b64(self._sign(rfc8785.dumps(entry)))
        verification = {"inclusionProof": proof, "signedEntryTimestamp": promise}
        return {"0" * 64: {**entry, "verification": verification}}

    def _sign(self, data: bytes) -> bytes:
        return self._rekor.sign(data, ec.ECDSA(hashes.SHA256()))


def _usage(*, ca: bool) -> x509.KeyUsage:
    names = (
        "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
        "encipher_only", "decipher_only",
    )  # fmt: skip
    rest = dict.fromkeys(names, False)
    return x509.KeyUsage(digital_signature=not ca, key_cert_sign=ca, crl_sign=ca, **rest)


def _der(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _id(key: ec.EllipticCurvePrivateKey) -> bytes:
    return sha256(_der(key)).digest()


def _hash(data: bytes) -> dict[str, str]:
    return {"algorithm": "sha256", "value": sha256(data).hexdigest()}


@contextmanager
def listening() -> Iterator[Instance]:
    """An instance that answers on 127.0.0.1."""
    instance = Instance()
    answers = {
        "/api/v2/signingCert": instance.signing_cert,
        "/api/v1/log/entries": instance.log_entry,
    }

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            bearer = self.headers.get("authorization", "")
            data = json.dumps(answers[self.path](asked, bearer)).encode()
            self.send_response(201)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        instance.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield instance
        finally:
            server.shutdown()
            thread.join()
