/** Names with their types, limits and what they are for. */

import { html } from "../../view.js";
import { Badge } from "../../parts/badge.js";
import { HostileText } from "../../parts/hostile_text.js";
import { MarkedText } from "./marked_text.js";

const TYPE_LENGTH_MAX = 120;
const LIMIT_LENGTH_MAX = 36;

/** @param {{fields: (import("../model/schema.js").Field & {place?: string})[]}} props */
export function FieldList({ fields }) {
  return html`<dl class="fields-list">
    ${fields.map(
      ({ name, place, depth, isRequired, type, limits, text }) => html`<div class=${`depth-${depth}`}>
        <dt>
          <code class="field-name"><${HostileText} text=${name} /></code>
          <span class="field-type"><${HostileText} text=${type} lengthMax=${TYPE_LENGTH_MAX} /></span>
          ${isRequired && html`<${Badge} kind="warn">required<//>`} ${place && html`<${Badge}>${place}<//>`}
        </dt>
        <dd>
          ${text && html`<p><${MarkedText} text=${text} /></p>`}
          ${limits.length > 0 &&
          html`<ul class="limits">${limits.map((each) => html`<li><${HostileText} text=${each} lengthMax=${LIMIT_LENGTH_MAX} /></li>`)}</ul>`}
        </dd>
      </div>`,
    )}
  </dl>`;
}
