"""`synthesised`: both stages in one app, once a session (some 15 s on a quiet machine)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from templates import Synthesised, Template

HOUSE = Path(__file__).parents[2]
CONTEXT = json.loads((HOUSE / "cdk.json").read_text("utf-8"))["context"]


@pytest.fixture(scope="session")
def synthesised(tmp_path_factory) -> Synthesised:
    from aws_cdk import App

    from infra.app import build
    from infra.review import PACK, findings
    from infra.stages import DEV, PROD

    folder = tmp_path_factory.mktemp("cdk.out")
    app = App(context=CONTEXT, outdir=str(folder))
    stacks = build(app, DEV, PROD)
    app.synth()
    account = app.node.find_child("AgentMemory-account")
    kept = {(construct.node.path, PACK + rule) for construct, rule, _ in findings(account, *stacks)}
    named = {path.name.removesuffix(".template.json"): path for path in folder.glob("*.template.json")}
    templates = {name: Template(json.loads(path.read_text("utf-8"))) for name, path in named.items()}
    report = json.loads((folder / "validation-report.json").read_text("utf-8"))
    return Synthesised(templates["AgentMemory-dev"], templates["AgentMemory-prod"], report, kept)


@pytest.fixture(params=["dev", "prod"])
def template(request, synthesised) -> Template:
    return getattr(synthesised, request.param)


@pytest.fixture
def dev(synthesised) -> Template:
    return synthesised.dev


@pytest.fixture
def prod(synthesised) -> Template:
    return synthesised.prod
