/** The method of a call. The colour only repeats it. */

import { html } from "../../view.js";

/** @param {{method: string}} props */
export function Method({ method }) {
  return html`<span class=${`method ${method.toLowerCase()}`}>${method}</span>`;
}
