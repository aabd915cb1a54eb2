/** Text that anybody may have sent: it stays in its place and cannot pass for something else. Characters that are not
 * seen, or that turn what follows around, are shown as marks; the rest is isolated from its surroundings. */

import { html, useState } from "../view.js";
import { count } from "../format/number.js";

// Controls but line breaks and tabs, what directs the bidirectional algorithm, what has no width, and halves of pairs.
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]|[\ud800-\udfff]/gu;

/** @param {string} text @returns {(string | {mark: string})[]} */
export function piecesOf(text) {
  const pieces = [];
  let end = 0;
  for (const found of text.matchAll(UNSEEN)) {
    if (found.index > end) pieces.push(text.slice(end, found.index));
    pieces.push({ mark: nameOf(found[0]) });
    end = found.index + found[0].length;
  }
  if (end < text.length) pieces.push(text.slice(end));
  return pieces;
}

/** @param {{text: string, lengthMax?: number, isBlock?: boolean}} props Beyond `lengthMax` characters there is a button. */
export function HostileText({ text, lengthMax = 200, isBlock = false }) {
  const [isWhole, setIsWhole] = useState(false);
  const shown = isWhole || text.length <= lengthMax ? text : text.slice(0, lengthMax);
  const rest = text.length - shown.length;
  const pieces = piecesOf(shown).map((each) =>
    typeof each === "string" ? each : html`<span class="unseen" title="a character that is not seen">${each.mark}</span>`,
  );
  const more =
    rest > 0 &&
    html`<button type="button" class="more" onClick=${() => setIsWhole(true)}>… show all (${count(rest)} more)</button>`;
  if (isBlock) return html`<div class="body"><pre class="hostile" dir="auto" tabindex="0">${pieces}</pre>${more}</div>`;
  return html`<bdi class="hostile">${pieces}</bdi>${more}`;
}

function nameOf(character) {
  return `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}
