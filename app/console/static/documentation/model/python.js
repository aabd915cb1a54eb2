/** A request as a Python program: by the SDK where it has the call, and all that is filled in has a place there; else with
 * Python's own library. Pure. */

import { parseExactly } from "../../api/exact_json.js";
import { pythonBlock, pythonLiteral, pythonText } from "./python_literal.js";
import { SDK_CALLS, pythonName } from "./sdk_calls.js";

const JSON_TYPE = "application/json";
const NUMBERS = new Set(["integer", "number", "boolean"]);

/** @param {import("./api_document.js").Call} call @param {import("./request_plan.js").Filled} filled
 * @param {import("./request_plan.js").Plan} plan @param {{hasToken: boolean, root: string}} about @returns {string} */
export function pythonOf(call, filled, plan, { hasToken, root }) {
  const sdkCall = sdkCallOf(call, filled);
  return sdkCall === null ? plainProgram(call, plan, hasToken) : sdkProgram(sdkCall, hasToken, root);
}

function sdkProgram(sdkCall, hasToken, root) {
  return [
    "import acklog",
    "",
    ...(hasToken ? ["# The token is taken from ACKLOG_TOKEN."] : []),
    `with acklog.Client(${pythonText(root.replace(/\/$/, ""))}) as client:`,
    `    print(${sdkCall})`,
    "",
  ].join("\n");
}

/** The call in Python; null where the SDK does not say the same. */
function sdkCallOf(call, filled) {
  const fields = fieldsIn(call, filled);
  if (fields === null) return null;
  for (const each of SDK_CALLS[call.id] ?? []) {
    const found = sdkArguments(each, fields);
    if (found) return `client.${each.method}(${found.join(", ")})`;
  }
  return null;
}

function sdkArguments({ given, named = {}, spread }, fields) {
  if (!given.every((name) => fields.has(name))) return null;
  const found = given.map((name) => pythonLiteral(fields.get(name)));
  for (const [name, value] of fields) {
    if (given.includes(name)) continue;
    if (name in named) found.push(`${named[name]}=${pythonLiteral(value)}`);
    else if (name === spread && isObject(value)) {
      for (const [member, each] of Object.entries(value)) found.push(`${pythonName(member)}=${pythonLiteral(each)}`);
    } else return null;
  }
  return found;
}

/** All that is filled in, by name; null where something cannot be said so: other media types, numbers that are none of
 * JavaScript's, names that stand for two things. */
function fieldsIn(call, filled) {
  if (filled.answerType && filled.answerType !== call.answerTypes[0]) return null;
  if (filled.mediaType && (filled.mediaType !== JSON_TYPE || filled.file)) return null;
  const fields = new Map();
  for (const parameter of call.parameters) {
    const text = filled.parameters[parameter.id] ?? "";
    if (text !== "") fields.set(parameter.name, valueOf(parameter, text));
  }
  if (!filled.mediaType) return [...fields.values()].includes(undefined) ? null : fields;
  const document = exactDocument(filled.body);
  if (!isObject(document)) return null;
  for (const [name, value] of Object.entries(document)) {
    if (fields.has(name)) return null;
    fields.set(name, value);
  }
  return [...fields.values()].includes(undefined) ? null : fields;
}

/** Undefined where it is none of its type. */
function valueOf({ schema }, text) {
  if (schema.type === "array") {
    const several = text.split(",").map((each) => each.trim()).filter(Boolean);
    return several.length === 1 ? several[0] : several;
  }
  if (!NUMBERS.has(schema.type)) return text;
  const value = exactDocument(text);
  return typeof value === (schema.type === "boolean" ? "boolean" : "number") ? value : undefined;
}

function exactDocument(text) {
  try {
    const value = JSON.parse(text);
    return JSON.stringify(value) === JSON.stringify(parseExactly(text)) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function plainProgram(call, plan, hasToken) {
  const headers = plan.headers.map(([name, value]) => `    ${pythonText(name)}: ${pythonText(value)},`);
  if (hasToken) headers.push(`    "Authorization": "Bearer " + os.environ["ACKLOG_TOKEN"],`);
  const isFile = plan.body !== null && typeof plan.body !== "string";
  return [
    ...(hasToken ? ["import os"] : []),
    "import urllib.error",
    "import urllib.request",
    ...(isFile ? ["from pathlib import Path"] : []),
    "",
    ...(headers.length ? ["headers = {", ...headers, "}"] : ["headers = {}"]),
    ...bodyLines(plan.body),
    `request = urllib.request.Request(${pythonText(plan.url)}, ${plan.body === null ? "" : "body, "}headers, method=${pythonText(plan.method)})`,
    "try:",
    "    with urllib.request.urlopen(request) as answer:",
    ...(call.isStream
      ? ["        for line in answer:", '            print(line.decode(), end="", flush=True)']
      : ["        print(answer.status)", '        print(answer.read().decode(errors="replace"))']),
    "except urllib.error.HTTPError as problem:",
    "    print(problem.code)",
    "    print(problem.read().decode())",
    "",
  ].join("\n");
}

function bodyLines(body) {
  if (body === null) return [];
  return [typeof body === "string" ? `body = ${pythonBlock(body)}.encode()` : `body = Path(${pythonText(body.name)}).read_bytes()`];
}
