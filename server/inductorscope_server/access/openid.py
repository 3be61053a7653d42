"""Signs people in with an OpenID provider: code flow with state, nonce and PKCE, by authlib.

A cookie keeps the browser's part for ten minutes: the provider's answer counts only in that
browser.
"""

import base64
import json
from functools import lru_cache
from typing import Any

from inductorscope import urls
from inductorscope.settings import Settings
from starlette.requests import Request
from starlette.responses import Response

from inductorscope_server.web.errors import Refusal

COOKIE = "inductorscope_oidc"
SECONDS = 600
THEN = "then"
BACK = "/login/provider/back"


@lru_cache(maxsize=1)
def _client(settings: Settings) -> Any:  # noqa: ANN401  # authlib has no types
    """Returns a client that keeps the provider's addresses and keys."""
    from authlib.integrations.starlette_client import OAuth

    return OAuth().register(
        "oidc",
        server_metadata_url=f"{settings.oidc_issuer.rstrip('/')}/.well-known/openid-configuration",
        client_id=settings.oidc_client,
        client_secret=settings.oidc_secret,
        client_kwargs={"scope": "openid profile", "code_challenge_method": "S256"},
    )


async def begin(request: Request, settings: Settings, then: str) -> Response:
    """Redirects to the provider. Raises Refusal."""
    request.scope["session"] = session = {THEN: then}
    try:
        answer: Response = await _client(settings).authorize_redirect(
            request, f"{str(request.base_url).rstrip('/')}{BACK}"
        )
    except Exception as error:  # authlib also raises the errors of its HTTP client
        raise _unreachable(settings) from error
    answer.set_cookie(
        COOKIE,
        base64.urlsafe_b64encode(json.dumps(session).encode()).decode(),
        max_age=SECONDS,
        path=urls.login(),
        httponly=True,
        samesite="lax",  # the provider's page redirects back here
        secure=request.url.scheme == "https",
    )
    return answer


async def end(request: Request, settings: Settings) -> tuple[str, str, str]:
    """Returns the subject and name from the provider, and the page to continue to. Raises
    Refusal."""
    from authlib.common.errors import AuthlibBaseError
    from joserfc.errors import JoseError

    wrong = Refusal(403, "The provider's answer does not belong to a login of this browser.",
                    do="Log in again.")  # fmt: skip
    try:
        session = json.loads(base64.urlsafe_b64decode(request.cookies.get(COOKIE, "")))
        then = str(session[THEN])
    except (ValueError, TypeError, KeyError) as error:
        raise wrong from error
    request.scope["session"] = session
    claims = {
        "iss": {"essential": True, "value": settings.oidc_issuer},
        "aud": {"essential": True, "value": settings.oidc_client},
        "sub": {"essential": True},
    }
    try:
        answer = await _client(settings).authorize_access_token(request, claims_options=claims)
        known = answer["userinfo"]
    except (AuthlibBaseError, JoseError, ValueError, KeyError) as error:
        raise wrong from error
    except Exception as error:  # as above
        raise _unreachable(settings) from error
    subject = str(known["sub"])
    return subject, str(known.get("preferred_username") or known.get("name") or subject), then


def forget(answer: Response) -> None:
    """Forgets the browser's part, so that the provider's answer counts only once."""
    answer.delete_cookie(COOKIE, path=urls.login())


def _unreachable(settings: Settings) -> Refusal:
    return Refusal(
        502, f"{settings.oidc_issuer} does not answer as an OpenID provider does.",
        do="Try again in a moment.", limit="INDUCTORSCOPE_OIDC_ISSUER",
    )  # fmt: skip
