/** All keys. */

import { html } from "../view.js";
import { Dialog } from "../parts/dialog.js";
import { Button } from "../parts/button.js";

/** @param {{screens: import("../routing/matching.js").Screen[], more?: [string, string][], onClose: () => void}} props
 *  `more` are keys that a page has for itself. */
export function Help({ screens, more = [], onClose }) {
  const keys = [
    ["/", "search"],
    ...screens.filter((each) => each.key).map((each) => [`g ${each.key}`, each.title.toLowerCase()]),
    ...more,
    ["?", "these keys"],
    ["Escape", "close, or leave a field"],
  ];
  return html`<${Dialog} title="Keys" onClose=${onClose}>
    <dl class="keys">
      ${keys.map(([key, does]) => html`<div><dt>${key.split(" ").map((each) => html`<kbd>${each}</kbd>`)}</dt><dd>${does}</dd></div>`)}
    </dl>
    <div class="dialog-end"><${Button} onClick=${onClose}>Close<//></div>
  <//>`;
}
