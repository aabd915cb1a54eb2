/** Descriptions: text with code between backquotes, and links to pages of this server. Pure. */

const MARKED = /`([^`]+)`|\[([^\]]+)\]\(([^)\s]+)\)/g;
const OWN_PAGE = /^(docs\/errors|docs\/plain|docs|openapi\.json|console)(#[\w.-]*)?$/;

/** @typedef {string | {code: string} | {link: string, text: string}} Piece */

/** What is no link to a page of this server stays text. @param {string} text @returns {Piece[]} */
export function markedPieces(text) {
  const pieces = [];
  let end = 0;
  for (const found of text.matchAll(MARKED)) {
    const [whole, code, said, target] = found;
    if (code === undefined && !OWN_PAGE.test(target)) continue;
    if (found.index > end) pieces.push(text.slice(end, found.index));
    pieces.push(code === undefined ? { link: target, text: said } : { code });
    end = found.index + whole.length;
  }
  if (end < text.length) pieces.push(text.slice(end));
  return pieces;
}
