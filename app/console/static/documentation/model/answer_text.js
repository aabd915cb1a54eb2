/** The body of an answer for people. Pure. */

import { parseExactly, prettyJson } from "../../api/exact_json.js";
import { hexOf } from "../../format/body.js";

const HEX_BYTES_MAX = 4_096;
const JSON_TYPE = /^application\/([\w.-]+\+)?json\b/i;
const NDJSON_TYPE = /^application\/x-ndjson\b/i;
const TEXT_TYPE = /^text\//i;

/** @param {Uint8Array} bytes @param {string} mediaType @returns {string} */
export function readableAnswer(bytes, mediaType) {
  if (JSON_TYPE.test(mediaType)) return pretty(textOf(bytes));
  if (NDJSON_TYPE.test(mediaType)) return textOf(bytes).split("\n").filter(Boolean).map(pretty).join("\n");
  return TEXT_TYPE.test(mediaType) ? textOf(bytes) : hexOf(bytes.subarray(0, HEX_BYTES_MAX));
}

/** Its JSON; undefined where it is none. @param {Uint8Array} bytes @param {string} mediaType */
export function documentOf(bytes, mediaType) {
  if (!JSON_TYPE.test(mediaType)) return undefined;
  try {
    return JSON.parse(textOf(bytes));
  } catch {
    return undefined;
  }
}

/** What is cut, or no JSON after all, is shown as it came. @param {string} text */
export function pretty(text) {
  try {
    return prettyJson(parseExactly(text));
  } catch {
    return text;
  }
}

function textOf(bytes) {
  return new TextDecoder().decode(bytes);
}
