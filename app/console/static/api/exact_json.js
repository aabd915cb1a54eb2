/** JSON in which numbers stay what they were: of 12345678901234567890, or 1.10, JavaScript's own numbers know another.
 * Where a browser cannot keep them (before 2025), they are shown as it reads them. */

const canKeep = typeof JSON.rawJSON === "function";

/** @param {string} text */
export function parseExactly(text) {
  return JSON.parse(text, canKeep ? keepNumber : undefined);
}

/** @param {unknown} value */
export function prettyJson(value) {
  return JSON.stringify(value, null, 2);
}

function keepNumber(_name, value, context) {
  if (typeof value !== "number" || context?.source === undefined || String(value) === context.source) return value;
  return JSON.rawJSON(context.source);
}
