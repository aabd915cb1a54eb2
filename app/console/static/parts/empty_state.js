/** What stands where there is nothing to show: why, and what to do. */

import { html } from "../view.js";

/** @param {{title: string, children?: unknown}} props */
export function EmptyState({ title, children }) {
  return html`<div class="empty"><p class="empty-title">${title}</p><div class="empty-text">${children}</div></div>`;
}
