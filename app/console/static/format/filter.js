/** The server's language of filters, as far as the console writes it. Pure. */

/** What all of these say together; "" where none says anything.
 * @param {{key?: string, tag?: string, filter?: string}} wanted */
export function filterOf({ key, tag, filter }) {
  const parts = [];
  if (key) parts.push(`key = ${quoted(key)}`);
  if (tag) parts.push(`tag = ${quoted(tag)}`);
  if (filter) parts.push(parts.length ? `(${filter})` : filter);
  return parts.join(" and ");
}

function quoted(text) {
  return `"${text.replace(/[\\"]/g, (each) => `\\${each}`)}"`;
}
