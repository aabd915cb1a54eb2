/** That an answer is on its way: seen only if it takes a moment. */

import { html } from "../view.js";

export function Waiting() {
  return html`<p class="waiting" role="status">Loading …</p>`;
}
