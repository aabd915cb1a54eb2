/** The status of an answer. */

import { html } from "../../view.js";
import { Badge } from "../../parts/badge.js";

/** @param {{status: number}} props */
export function StatusBadge({ status }) {
  const kind = status >= 500 ? "bad" : status >= 400 ? "warn" : "good";
  return html`<${Badge} kind=${kind}>${status}<//>`;
}
