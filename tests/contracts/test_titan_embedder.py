"""Amazon Titan Text Embeddings V2: request and answer as its user guide shows them, errors as Bedrock's API does."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError, NoRegionError
from botocore.response import StreamingBody
from botocore.stub import Stubber
from embedding_server import bare_bedrock_client, bedrock_client

from agent_memory.adapters.bedrock import TITAN_V2, TitanModel
from agent_memory.domain.errors import EmbedderUnavailable

AXIS = [1.0] + [0.0] * 255


def asked_for(text: str) -> dict[str, Any]:
    body = json.dumps({"inputText": text, "dimensions": 256, "normalize": True})
    return {"modelId": TITAN_V2, "body": body, "contentType": "application/json", "accept": "application/json"}


def answered(**fields: Any) -> dict[str, Any]:
    body = json.dumps(
        {"embedding": AXIS, "embeddingsByType": {"float": AXIS}, "inputTextTokenCount": 4, **fields}
    ).encode()
    return {"body": StreamingBody(io.BytesIO(body), len(body)), "contentType": "application/json"}


def failing(status: int, kind: str, word: str = "") -> Any:
    """Answers but where the text holds the word."""

    def script(body: dict[str, Any]) -> tuple[int, Any]:
        if word in body["inputText"]:
            return status, {"type": kind, "message": "no"}
        return 200, {"embedding": AXIS, "inputTextTokenCount": 4}

    return script


def model_of(client: Any) -> TitanModel:
    return TitanModel(dimensions=256, client=lambda: client)


def test_one_text_is_one_call_with_the_dimensions_and_a_vector_of_unit_length():
    client = bare_bedrock_client()
    with Stubber(client) as stub:
        stub.add_response("invoke_model", answered(), asked_for("Likes tea."))
        embedded = model_of(client).embed(["Likes tea."])
        stub.assert_no_pending_responses()
    assert embedded.vectors == [AXIS]
    assert embedded.tokens == 4


@pytest.mark.parametrize(
    "code", ["ThrottlingException", "AccessDeniedException", "ModelNotReadyException", "ServiceUnavailableException"]
)
@pytest.mark.rule("RK-6")
def test_an_error_of_the_service_is_unavailable(code):
    client = bare_bedrock_client()
    with Stubber(client) as stub:
        stub.add_client_error("invoke_model", code, "no")
        with pytest.raises(EmbedderUnavailable, match=code):
            model_of(client).embed(["Likes tea."])


@pytest.mark.parametrize("fields", [{"embedding": [1.0]}, {"embedding": None}, {"inputTextTokenCount": "many"}])
def test_an_answer_without_a_vector_of_the_right_size_is_unavailable(fields):
    client = bare_bedrock_client()
    with Stubber(client) as stub:
        stub.add_response("invoke_model", answered(**fields))
        with pytest.raises(EmbedderUnavailable):
            model_of(client).embed(["Likes tea."])


@pytest.mark.rule("RK-6")
def test_a_text_that_is_refused_holds_up_no_other():
    client = bedrock_client(failing(400, "ValidationException", "poison"))
    vectors = model_of(client).embed(["a", "poison", "b"]).vectors
    assert [vector is None for vector in vectors] == [False, True, False]
    assert model_of(client).embed(["poison"]).vectors == [None]


def test_a_model_that_refuses_every_text_is_wrongly_set_up():
    with pytest.raises(EmbedderUnavailable):
        model_of(bedrock_client(failing(400, "ValidationException"))).embed(["a", "b"])


@pytest.mark.rule("RK-6")
def test_a_failure_among_many_texts_is_unavailable():
    client = bedrock_client(failing(500, "InternalServerException", "text 3"))
    with pytest.raises(EmbedderUnavailable):
        model_of(client).embed([f"text {n}" for n in range(30)])


def test_a_connection_that_fails_is_unavailable():
    def unreachable(body: dict[str, Any]) -> Any:
        raise EndpointConnectionError(endpoint_url="https://bedrock.invalid")

    with pytest.raises(EmbedderUnavailable):
        model_of(bedrock_client(unreachable)).embed(["Likes tea."])


def test_a_client_that_cannot_be_made_is_unavailable():
    def no_region() -> Any:
        raise NoRegionError()

    with pytest.raises(EmbedderUnavailable):
        TitanModel(client=no_region).embed(["Likes tea."])


def test_a_size_that_the_model_does_not_give_is_refused():
    with pytest.raises(ValueError, match="256, 512, 1024"):
        TitanModel(dimensions=384)
