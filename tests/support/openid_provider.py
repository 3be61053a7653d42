"""A real OpenID provider for tests: `python -m tests.support.openid_provider`.

It logs in whoever `login` names in the request to authorize, with keys of its own, and prints its
address. `wrong=nonce` and the like have it make a mistake, which the server must notice.
"""

import hashlib
import json
import secrets
import time
from base64 import b64decode, urlsafe_b64encode
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "inductorscope", "s3cret"
OWN, OTHER = "own", "other"
GRANTS: dict[str, dict[str, str]] = {}
"""Codes that were given out, with the request that each answers; each counts once."""


@cache
def key(whose: str) -> RSAKey:
    """Of the provider, or of another one. It takes a while to make."""
    return RSAKey.generate_key(2048, {"kid": "1", "use": "sig", "alg": "RS256"})


class Provider(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        address = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(address.query).items()}
        if address.path == "/.well-known/openid-configuration":
            self._answer({
                "issuer": self.issuer, "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token", "jwks_uri": f"{self.issuer}/keys",
                "response_types_supported": ["code"], "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "code_challenge_methods_supported": ["S256"],
            })  # fmt: skip
        elif address.path == "/keys":
            self._answer({"keys": [key(OWN).as_dict(private=False)]})
        elif address.path == "/authorize":
            assert (asked["client_id"], asked["response_type"]) == (CLIENT, "code")
            assert asked["code_challenge_method"] == "S256"
            code = secrets.token_urlsafe(16)
            GRANTS[code] = asked
            self.send_response(302)
            back = urlencode({"code": code, "state": asked["state"]})
            self.send_header("Location", f"{asked['redirect_uri']}?{back}")
            self.end_headers()
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        sent = {name: values[0] for name, values in parse_qs(body).items()}
        grant = GRANTS.pop(sent["code"], None)
        _, _, basic = self.headers.get("Authorization", "").partition(" ")
        challenge = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
        if (
            grant is None
            or b64decode(basic).decode() != f"{CLIENT}:{SECRET}"
            or grant["redirect_uri"] != sent["redirect_uri"]
            or grant["code_challenge"] != urlsafe_b64encode(challenge).decode().rstrip("=")
        ):
            self._answer({"error": "invalid_grant"}, 400)
            return
        wrong, subject = grant.get("wrong"), grant["login"]
        now = int(time.time())
        claims = {
            "iss": "https://other.example" if wrong == "issuer" else self.issuer,
            "aud": "another" if wrong == "audience" else CLIENT,
            "azp": CLIENT,
            "sub": subject,
            "nonce": "another" if wrong == "nonce" else grant["nonce"],
            "iat": now - 7200 if wrong == "time" else now,
            "exp": now - 3600 if wrong == "time" else now + 60,
            "preferred_username": grant.get("name", subject),
            "email": "shared@example.org",
        }
        signed_with = key(OTHER if wrong == "key" else OWN)
        id_token = jwt.encode({"alg": "RS256", "kid": "1"}, claims, signed_with)
        self._answer({"access_token": "unused", "token_type": "Bearer", "id_token": id_token})

    @property
    def issuer(self) -> str:
        return f"http://{self.headers['Host']}"

    def _answer(self, body: dict[str, Any], status: int = 200) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing of requests."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
