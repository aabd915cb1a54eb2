/** A word on how something is. The colour only repeats it. */

import { html } from "../view.js";

/** @param {{kind?: "plain" | "good" | "warn" | "bad", title?: string, children?: unknown}} props */
export function Badge({ kind = "plain", title, children }) {
  return html`<span class=${`badge ${kind}`} title=${title}>${children}</span>`;
}
