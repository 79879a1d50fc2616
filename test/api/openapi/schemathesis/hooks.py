"""What a schema can't say of requests, for schemathesis; CONTRIBUTING.md says how to run it."""

import json
import uuid

import schemathesis

RULE = json.dumps({"name": "id", "op": "gt", "val": 0})
FAR_AWAY = "2099-12-31T00:00:00+00:00"


@schemathesis.hook
def before_call(context, case, kwargs):
    """Only of requests that are meant to be valid: what is broken on purpose stays so."""
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    correct_headers(case.headers or {})
    correct_query(case.query or {})
    correct_body(case.body)


def correct_headers(headers):
    """A key belongs to one request, and an entity tag to one state: neither can be guessed."""
    for name in list(headers):
        if name.lower() == "idempotency-key":
            headers[name] = str(uuid.uuid4())
        if name.lower() == "if-match":
            headers[name] = "*"


def correct_query(query):
    """A filter is JSON inside a string, and a cursor is opaque."""
    if "filter[]" in query:
        query["filter[]"] = [RULE]
    for name in ("page[after]", "page[before]"):
        if name in query:
            query[name] = ""
    for name in ("after", "before"):
        if name in query.get("page", {}):
            query["page"][name] = ""


def correct_body(body):
    """Times at which something ends lie ahead."""
    data = body.get("data") if isinstance(body, dict) else None
    attributes = data.get("attributes") if isinstance(data, dict) else None
    if isinstance(attributes, dict) and isinstance(attributes.get("expires_at"), str):
        attributes["expires_at"] = FAR_AWAY
