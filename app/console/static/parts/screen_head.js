/** The head of a screen: where it is, what it is called, and what can be done. */

import { html } from "../view.js";
import { HostileText } from "./hostile_text.js";

/** @param {{title: string, trail?: {text: string, href: string}[], children?: unknown}} props `children` are its actions. */
export function ScreenHead({ title, trail = [], children }) {
  return html`<header class="screen-head">
    <div>
      ${trail.length > 0 &&
      html`<nav class="trail" aria-label="Where this is">
        ${trail.map(({ text, href }) => html`<a href=${href}><${HostileText} text=${text} lengthMax=${60} /></a><span aria-hidden="true">/</span>`)}
      </nav>`}
      <h1 tabindex="-1"><${HostileText} text=${title} lengthMax=${120} /></h1>
    </div>
    <div class="actions">${children}</div>
  </header>`;
}
