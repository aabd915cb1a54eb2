/** What is sent for what was filled in. Pure. */

/**
 * @typedef {{parameters: Record<string, string>, mediaType: string, body: string, file: File | null, answerType: string}} Filled
 *   `parameters` by their ids; `mediaType` is "" where no body is sent; `file` is sent in the place of `body`
 * @typedef {{method: string, url: string, headers: [string, string][], body: string | File | null}} Plan without a token
 */

const SEPARATOR = ",";
const DOTS = new Set([".", ".."]);

/** @param {import("./api_document.js").Call} call @param {Filled} filled @param {string} root that ends in a slash @returns {Plan} */
export function planOf(call, filled, root) {
  const value = (parameter) => wellFormed(filled.parameters[parameter.id] ?? "");
  const of = (place) => call.parameters.filter((each) => each.place === place);
  const path = of("path").reduce((found, each) => found.replace(`{${each.name}}`, () => encodeURIComponent(value(each))), call.path);
  const query = of("query").flatMap((each) => valuesOf(each, value(each)).map((one) => `${encodeURIComponent(each.name)}=${encodeURIComponent(one)}`));
  const headers = of("header").filter((each) => value(each) !== "").map((each) => [each.name, value(each)]);
  if (filled.answerType && filled.answerType !== call.answerTypes[0]) headers.push(["Accept", filled.answerType]);
  if (call.isStream) headers.push(["Accept", "text/event-stream"]);
  if (filled.mediaType) headers.push(["Content-Type", filled.mediaType]);
  return {
    method: call.method,
    url: `${root}${path.replace(/^\//, "")}${query.length ? `?${query.join("&")}` : ""}`,
    headers,
    body: filled.mediaType ? (filled.file ?? wellFormed(filled.body)) : null,
  };
}

/** Why it cannot be sent at all, by the parameters' ids. All else the server judges.
 * @param {import("./api_document.js").Call} call @param {Filled} filled @returns {Record<string, string>} */
export function faultsOf(call, filled) {
  const faults = {};
  for (const { id, name, place } of call.parameters) {
    const value = filled.parameters[id] ?? "";
    if (place === "path" && value === "") faults[id] = `The path needs ${name}.`;
    else if (place === "path" && DOTS.has(value)) faults[id] = "No browser asks for this path: use another client.";
    else if (place === "header" && /[^\x20-\x7e]/.test(value)) faults[id] = "A header takes ASCII only.";
  }
  return faults;
}

/** Of a parameter that may repeat, each between commas. */
function valuesOf(parameter, text) {
  if (text === "") return [];
  if (parameter.schema.type !== "array") return [text];
  return text.split(SEPARATOR).map((each) => each.trim()).filter(Boolean);
}

/** Halves of pairs are no text: they are sent as browsers send them. */
function wellFormed(text) {
  return text.replace(/[\ud800-\udfff]/gu, "\ufffd");
}
