"""Maps IAM roles to roles of the search domain: a custom resource, deployed inline (at most 4,096 characters).

The domain takes such mappings through its own interface alone, from its master role, which is this function's. Making
them again changes nothing. At deletion nothing is done: they go with the domain, or stay with it.
"""

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

TRIES = 10  # a new domain may refuse for a minute after CloudFormation calls it made
PAUSE_S = 10
API = "/_plugins/_security/api"


def handler(event: Mapping[str, Any], context: Any) -> None:
    """CloudFormation waits for the answer at `ResponseURL`, whatever happens."""
    failure = ""
    try:
        if event["RequestType"] != "Delete":
            given = event["ResourceProperties"]
            give_roles(given["Endpoint"], json.loads(given["Roles"]))
    except Exception as error:  # without an answer CloudFormation would wait for an hour
        failure = f"{type(error).__name__}: {error}"[:500]
    answer = {name: event[name] for name in ("StackId", "RequestId", "LogicalResourceId")}
    answer |= {"PhysicalResourceId": "roles", "Status": "FAILED" if failure else "SUCCESS", "Reason": failure}
    send(event["ResponseURL"], json.dumps(answer).encode(), {"Content-Type": ""})


def give_roles(endpoint: str, roles: Mapping[str, Any], pause_s: float = PAUSE_S) -> None:
    for name, role in roles.items():
        rights = {key: role[key] for key in ("cluster_permissions", "index_permissions")}
        put(f"{endpoint}{API}/roles/{name}", rights, pause_s)
        put(f"{endpoint}{API}/rolesmapping/{name}", {"backend_roles": role["backend_roles"]}, pause_s)


def put(url: str, body: Any, pause_s: float) -> None:
    data = json.dumps(body).encode()
    for left in reversed(range(TRIES)):
        try:
            send(url, data, signed(url, data))
            return
        except urllib.error.URLError as error:
            if not left:
                raise RuntimeError(f"the domain refused {url}: {error}") from error
            time.sleep(pause_s)


def signed(url: str, data: bytes) -> dict[str, str]:
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.session import Session

    request = AWSRequest("PUT", url, data=data, headers={"Content-Type": "application/json"})
    SigV4Auth(Session().get_credentials(), "es", os.environ["AWS_REGION"]).add_auth(request)
    return dict(request.headers)


def send(url: str, data: bytes, headers: Mapping[str, str]) -> None:
    request = urllib.request.Request(url, data=data, headers=dict(headers), method="PUT")
    with urllib.request.urlopen(request, timeout=30) as answer:
        answer.read()
