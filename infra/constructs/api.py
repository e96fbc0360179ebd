"""The REST interface, made from `runtime.routes`: a method for each route, signed (AWS_IAM) without exception.

Knows how API Gateway spells what the product promises of HTTP: its own refusals as problems (RFC 9457) with a code,
limits of requests a second, and an access log that holds neither queries nor bodies. Which function answers, the route
says; who may call, `infra.grants`.

API Gateway does not tell a call without a signature from one to a path or method that is not there: both are 403, so
nobody without a grant learns which paths exist. It refuses bodies above 10 MB, the functions those above the route's
limit. Its access log needs a role that an account has once in a region (`infra.account.ApiLogs`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_apigateway as apigateway
from constructs import Construct

from agent_memory.runtime.routes import ROUTES, Route
from infra.constructs.function import MemoryFunction
from infra.constructs.logging import log_group
from infra.stages import StageSettings

# Kind of API Gateway's refusal, status, code, detail. Codes are those of `runtime.problems`; a test compares.
PROBLEMS = (
    ("ACCESS_DENIED", 403, "forbidden", "The caller has no grant for this call."),
    ("AUTHORIZER_FAILURE", 503, "unavailable", "The caller could not be checked; send it again."),
    ("BAD_REQUEST_BODY", 400, "invalid_request", "The body cannot be read."),
    ("BAD_REQUEST_PARAMETERS", 400, "invalid_request", "The query cannot be read."),
    ("DEFAULT_4XX", 400, "invalid_request", "The request cannot be read."),
    ("DEFAULT_5XX", 503, "unavailable", "Something did not answer; send it again."),
    ("EXPIRED_TOKEN", 403, "forbidden", "The signature's credentials have expired."),
    ("INTEGRATION_FAILURE", 503, "unavailable", "The function did not answer; send it again."),
    ("INTEGRATION_TIMEOUT", 503, "unavailable", "The answer took too long; send it again."),
    ("INVALID_SIGNATURE", 403, "forbidden", "The signature does not fit the request."),
    ("MISSING_AUTHENTICATION_TOKEN", 403, "forbidden", "The call is unsigned, or there is no such path or method."),
    ("QUOTA_EXCEEDED", 429, "throttled", "Too many requests; send it again later."),
    ("REQUEST_TOO_LARGE", 413, "too_large", "The body is too large."),
    ("RESOURCE_NOT_FOUND", 404, "not_found", "There is no such path."),
    ("THROTTLED", 429, "throttled", "Too many requests; send it again later."),
    ("UNAUTHORIZED", 401, "unauthenticated", "The call is not signed."),
    ("UNSUPPORTED_MEDIA_TYPE", 400, "invalid_request", "The body has to be application/json."),
)
_TITLES = {  # RFC 9110
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    413: "Content Too Large",
    429: "Too Many Requests",
    503: "Service Unavailable",
}
_ENUM = {"DEFAULT_4XX": "DEFAULT_4_XX", "DEFAULT_5XX": "DEFAULT_5_XX"}  # as CDK spells them

ACCESS_LOG = {
    "request_id": "$context.requestId",
    "at": "$context.requestTimeEpoch",
    "caller": "$context.identity.userArn",
    "method": "$context.httpMethod",
    "resource": "$context.resourcePath",
    "status": "$context.status",
    "refused_by_gateway": "$context.error.responseType",
    "answer_bytes": "$context.responseLength",
    "duration_ms": "$context.responseLatency",
    "function_ms": "$context.integrationLatency",
}


class Api(Construct):
    def __init__(
        self, scope: Construct, id: str, *, stage: StageSettings, functions: Mapping[str, MemoryFunction]
    ) -> None:
        super().__init__(scope, id)
        self._stage = stage
        self.rest = apigateway.RestApi(
            self,
            "Rest",
            rest_api_name=f"agent-memory-{stage.name}",
            endpoint_types=[apigateway.EndpointType.REGIONAL],
            cloud_watch_role=False,  # the account's, not a stage's
            deploy_options=self._deployment(),
        )
        self._answer_refusals()
        for route in ROUTES:
            self._add(route, functions[route.function])

    def _add(self, route: Route, function: MemoryFunction) -> None:
        timeout = Duration.seconds(29)  # API Gateway's own limit
        integration = apigateway.LambdaIntegration(
            function.callable, allow_test_invoke=False, scope_permission_to_method=True, timeout=timeout
        )
        self.rest.root.resource_for_path(route.resource).add_method(
            route.method,
            integration,
            authorization_type=apigateway.AuthorizationType.IAM,
            operation_name=route.operation,
        )

    def _deployment(self) -> apigateway.StageOptions:
        throttle = self._stage.throttle
        each = apigateway.MethodDeploymentOptions(
            throttling_rate_limit=throttle.method_rate, throttling_burst_limit=throttle.method_burst
        )
        return apigateway.StageOptions(
            stage_name=self._stage.name,
            throttling_rate_limit=throttle.rate,
            throttling_burst_limit=throttle.burst,
            method_options={f"{route.resource}/{route.method}": each for route in ROUTES},
            metrics_enabled=True,
            tracing_enabled=True,
            logging_level=apigateway.MethodLoggingLevel.OFF,  # it would log queries and bodies
            data_trace_enabled=False,
            access_log_destination=apigateway.LogGroupLogDestination(log_group(self, "Access", self._stage)),
            access_log_format=apigateway.AccessLogFormat.custom(json.dumps(ACCESS_LOG)),
        )

    def _answer_refusals(self) -> None:
        for kind, status, code, detail in PROBLEMS:
            body = {"type": "about:blank", "title": _TITLES[status], "status": status, "code": code, "detail": detail}
            self.rest.add_gateway_response(
                kind.title().replace("_", ""),
                type=getattr(apigateway.ResponseType, _ENUM.get(kind, kind)),
                status_code=str(status),
                response_headers={"Content-Type": "'application/problem+json'", "Request-Id": "context.requestId"}
                | ({"Retry-After": "'1'"} if status in (429, 503) else {}),
                templates={"application/json": json.dumps(body | {"request_id": "$context.requestId"})},
            )
