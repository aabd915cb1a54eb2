/** Values as Python writes them. Pure. */

/** @param {unknown} value of JSON @returns {string} */
export function pythonLiteral(value) {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return pythonText(value);
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(", ")}]`;
  return `{${Object.entries(value).map(([name, each]) => `${pythonText(name)}: ${pythonLiteral(each)}`).join(", ")}}`;
}

/** JSON's escapes are some of Python's. @param {string} text @returns {string} */
export function pythonText(text) {
  return JSON.stringify(text);
}

/** Over several lines as it is, where Python can say that. @param {string} text @returns {string} */
export function pythonBlock(text) {
  const isPlain = /^[\n\x20-\x7e]*$/.test(text) && !text.includes("'''") && !/['\\]$/.test(text) && text.includes("\n");
  return isPlain ? `r'''${text}'''` : pythonText(text);
}
