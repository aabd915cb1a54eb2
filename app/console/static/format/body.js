/** A message's body for people. Pure. */

import { prettyJson } from "../api/exact_json.js";

const HEX_COLUMNS = 16;
const TEXTUAL = /^(text\/|application\/(json|xml|[\w.+-]+\+(json|xml)|x-ndjson|javascript)\b)/i;
const PREVIEW_LENGTH = 120;

/** @param {{body?: unknown, bodyBase64?: string, contentType?: string}} message
 *  @returns {{kind: "JSON" | "text" | "bytes", text: string, size: number}} `size` in bytes, of JSON as it is shown */
export function readable(message) {
  if (message.bodyBase64 === undefined) {
    const text = prettyJson(message.body);
    return { kind: "JSON", text, size: new TextEncoder().encode(text).length };
  }
  const bytes = bytesOf(message.bodyBase64);
  const text = TEXTUAL.test(message.contentType ?? "") ? textOf(bytes) : null;
  return text === null
    ? { kind: "bytes", text: hexOf(bytes), size: bytes.length }
    : { kind: "text", text, size: bytes.length };
}

/** One line of it. @param {{body?: unknown, bodyBase64?: string, contentType?: string, truncated?: boolean}} message */
export function preview(message) {
  if (message.bodyBase64 === undefined) return shortened(JSON.stringify(message.body));
  // Of base64 four characters are three bytes: no more is unpacked than is shown.
  const bytes = bytesOf(message.bodyBase64.slice(0, PREVIEW_LENGTH * 4));
  if (bytes.length === 0) return `${message.contentType ?? "bytes"}: nothing`;
  const text = TEXTUAL.test(message.contentType ?? "") ? textOf(bytes) : null;
  return text === null ? `${message.contentType ?? "bytes"}: ${pairs(bytes.subarray(0, HEX_COLUMNS))}` : shortened(text);
}

/** @param {string} base64 @returns {Uint8Array} */
export function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
}

/** @param {Uint8Array} bytes @returns {string} base64 */
export function packed(bytes) {
  let text = "";
  for (const each of bytes) text += String.fromCharCode(each);
  return btoa(text);
}

/** Offsets, bytes, and what they are in ASCII. @param {Uint8Array} bytes */
export function hexOf(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += HEX_COLUMNS) {
    const row = bytes.subarray(at, at + HEX_COLUMNS);
    const ascii = [...row].map((each) => (each > 31 && each < 127 ? String.fromCharCode(each) : ".")).join("");
    lines.push(`${at.toString(16).padStart(8, "0")}  ${pairs(row).padEnd(HEX_COLUMNS * 3 - 1)}  ${ascii}`);
  }
  return lines.join("\n");
}

function pairs(bytes) {
  return [...bytes].map((each) => each.toString(16).padStart(2, "0")).join(" ");
}

function shortened(text) {
  return text.length > PREVIEW_LENGTH ? `${text.slice(0, PREVIEW_LENGTH)}…` : text;
}

/** Null where they are no UTF-8. */
function textOf(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
