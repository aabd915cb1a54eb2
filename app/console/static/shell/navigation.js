/** The ways to all screens. */

import { html } from "../view.js";
import { addressOf } from "../routing/route.js";

/** @param {{screens: import("../routing/matching.js").Screen[], current: string}} props `current` is the first part of the address. */
export function Navigation({ screens, current }) {
  return html`<nav class="navigation" aria-label="Screens">
    <ul>
      ${screens
        .filter((each) => each.key)
        .map((each) => {
          const parts = each.pattern.split("/").filter(Boolean);
          const isHere = (parts[0] ?? "") === current;
          return html`<li>
            <a href=${addressOf(parts)} aria-current=${isHere ? "page" : undefined}>${each.title}</a>
          </li>`;
        })}
    </ul>
  </nav>`;
}
