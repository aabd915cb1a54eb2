/** The way to the next page of a listing, while there is one. */

import { html } from "../view.js";
import { Button } from "./button.js";
import { Waiting } from "./waiting.js";

/** @param {{listing: {isWaiting: boolean, hasMore: boolean, more: () => void}, children?: unknown}} props as `usePages`
 *  answers it; `children` say what comes */
export function MoreOf({ listing: { isWaiting, hasMore, more }, children = "More" }) {
  if (isWaiting) return html`<${Waiting} />`;
  return hasMore && html`<div class="after"><${Button} onClick=${more}>${children}<//></div>`;
}
