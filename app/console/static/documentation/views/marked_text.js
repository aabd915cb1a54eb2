/** A description, with its code and its links. */

import { html } from "../../view.js";
import { HostileText } from "../../parts/hostile_text.js";
import { markedPieces } from "../model/marked_text.js";

const LENGTH_MAX = 4_000;

/** @param {{text: string}} props */
export function MarkedText({ text }) {
  return markedPieces(text).map((each) => {
    if (typeof each === "string") return html`<${HostileText} text=${each} lengthMax=${LENGTH_MAX} />`;
    if ("code" in each) return html`<code><${HostileText} text=${each.code} /></code>`;
    return html`<a href=${each.link}><${HostileText} text=${each.text} /></a>`;
  });
}
