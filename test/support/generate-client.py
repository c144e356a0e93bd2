"""Makes a client in Python of a monitor's own document, with nothing but the standard library.

    generate-client.py URL_OF_THE_DOCUMENT CA_FILE TOKEN > moorage_client.py
"""

import json
import re
import ssl
import sys
import urllib.request

HEAD = '''"""Made of {title} {version}. Do not edit: make it again."""

import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Iterator, List, Literal, NotRequired, TypedDict, Union


class Refused(Exception):
    """An answer that is a problem (RFC 9457): `code` is for programs."""

    def __init__(self, problem):
        super().__init__(problem["detail"])
        self.status = problem["status"]
        self.code = problem["code"]


class Client:
    """One monitor, and who asks it."""

    def __init__(self, address: str, token: str, ca_file: str):
        self.address = address
        self._token = token
        self._trust = ssl.create_default_context(cafile=ca_file)

    def _call(self, method, path, query, headers, body, kinds):
        asked = {{k: str(v).lower() if isinstance(v, bool) else v for k, v in query.items() if v is not None}}
        url = self.address + path + ("?" + urllib.parse.urlencode(asked) if asked else "")
        sent = {{k: str(v) for k, v in headers.items() if v is not None}}
        sent["authorization"] = "Bearer " + self._token
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            sent["content-type"] = "application/json"
        request = urllib.request.Request(url, data=data, headers=sent, method=method)
        try:
            answer = urllib.request.urlopen(request, context=self._trust, timeout=60)
        except urllib.error.HTTPError as refused:
            with refused:
                raise Refused(json.load(refused)) from None
        if answer.status == 204:
            answer.close()
            return None
        kind = answer.headers.get_content_type()
        if kind not in kinds:
            raise TypeError(f"{{method}} {{path}} answered {{kind}}, its document says {{kinds}}")
        if kind == "application/x-ndjson":
            return self._lines(answer)
        with answer:
            read = answer.read()
        if kind.endswith("json"):
            return json.loads(read)
        return read.decode() if kind.startswith("text/") else read

    @staticmethod
    def _lines(answer) -> Iterator[Any]:
        with answer:
            for line in answer:
                if line.strip():
                    yield json.loads(line)
'''


def main():
    url, ca_file, token = sys.argv[1:]
    request = urllib.request.Request(url, headers={"authorization": "Bearer " + token})
    with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=ca_file)) as answer:
        document = json.load(answer)
    assert document["openapi"].startswith("3.1"), document["openapi"]
    schemas = document["components"]["schemas"]
    print(HEAD.format(**document["info"]))
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            # A channel is no call.
            if "101" not in operation["responses"]:
                print(method_of(path, method, operation))
    for name, schema in schemas.items():
        print(type_of(name, schema))


def method_of(path, method, operation):
    """One operation: what its path names comes first, then the body, and by name what may be left out."""
    by_place = {"path": [], "query": [], "header": []}
    for parameter in operation["parameters"]:
        by_place[parameter["in"]].append(parameter)
    positional = [snake(p["name"]) for p in by_place["path"]]
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    body = "None"
    if content is not None:
        positional.append(f"body: {hint(content['schema'])!r}")
        body = "body"
    named = [
        f"{snake(p['name'])}: {hint(p['schema'])}" + ("" if p["required"] else " | None = None")
        for place in ("query", "header")
        for p in sorted(by_place[place], key=lambda p: not p["required"])
    ]
    signature = ", ".join(["self", *positional, *(["*", *named] if named else [])])
    kinds, answers = [], []
    for status, response in operation["responses"].items():
        if not status.startswith("2"):
            continue
        for kind, media in response.get("content", {"": None}).items():
            answer = "None" if media is None else hint(media["schema"])
            answers.append(f"Iterator[{answer}]" if kind == "application/x-ndjson" else answer)
            kinds.append(kind)
    filled = re.sub(r"\{(\w+)\}", lambda m: "{urllib.parse.quote(str(%s), safe='')}" % snake(m[1]), path)
    pairs = {
        place: ", ".join(f'"{p["name"]}": {snake(p["name"])}' for p in by_place[place])
        for place in ("query", "header")
    }
    answer = " | ".join(dict.fromkeys(answers))
    return f'''
    def {snake(operation["operationId"])}({signature}) -> "{answer}":
        """{operation["summary"]}."""
        return self._call({method.upper()!r}, f"{filled}", {{{pairs["query"]}}}, {{{pairs["header"]}}}, {body}, {kinds})'''


def type_of(name, schema):
    """A component as a type. What it may have besides is not forbidden: newer monitors add fields."""
    properties = schema.get("properties")
    if properties is None or not all(key.isidentifier() for key in properties):
        return f"\n{name} = {hint(schema)}"
    lines = [f"\n\nclass {name}(TypedDict):"]
    for key, value in properties.items():
        needed = key in schema.get("required", [])
        lines.append(f'    {key}: "{hint(value) if needed else f"NotRequired[{hint(value)}]"}"')
    return "\n".join(lines)


def hint(schema):
    """The type of a schema, in words of Python."""
    if not isinstance(schema, dict):
        return "Any"
    if "$ref" in schema:
        return schema["$ref"].split("/")[-1]
    if "const" in schema:
        return f"Literal[{schema['const']!r}]"
    if "enum" in schema:
        return f"Literal[{', '.join(repr(value) for value in schema['enum'])}]"
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return f"Union[{', '.join(hint(one) for one in schema[several])}]"
    if schema.get("type") == "array":
        return f"List[{hint(schema.get('items'))}]"
    simple = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    return " | ".join(simple.get(kind, "dict") for kind in kinds)


def snake(name):
    """`getV1JobsByNamespace` and `if-match` as Python writes them."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").lower()
    return words + "_" if words in ("from", "in", "is", "class") else words


main()
