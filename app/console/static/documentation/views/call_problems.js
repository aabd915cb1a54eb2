/** Every problem that a call may answer with: what happened, and what to do. */

import { html } from "../../view.js";
import { Badge } from "../../parts/badge.js";
import { HostileText } from "../../parts/hostile_text.js";
import { MarkedText } from "./marked_text.js";
import { StatusBadge } from "./status_badge.js";

/** @param {{problems: import("../model/api_document.js").ApiProblem[]}} props */
export function CallProblems({ problems }) {
  if (problems.length === 0) return null;
  return html`<section class="call-part">
    <h2>Problems</h2>
    <p class="quiet">Programs go by the code. Where the same request may succeed later, that is said.</p>
    <dl class="problems">
      ${problems.map(
        ({ code, status, title, remedy, isRetriable }) => html`<div>
          <dt>
            <${StatusBadge} status=${status} />
            <a href=${`docs/errors#${encodeURIComponent(code)}`}><code><${HostileText} text=${code} /></code></a>
            ${isRetriable && html`<${Badge}>may succeed later<//>`}
          </dt>
          <dd><p><${MarkedText} text=${title} />.</p><p class="quiet"><${MarkedText} text=${remedy} /></p></dd>
        </div>`,
      )}
    </dl>
  </section>`;
}
