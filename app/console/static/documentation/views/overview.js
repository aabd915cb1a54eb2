/** What the page begins with: a message's way in three calls, and all calls by what they are for. */

import { html } from "../../view.js";
import { addressOf } from "../../routing/route.js";
import { HostileText } from "../../parts/hostile_text.js";
import { ROOT } from "../exchange/root.js";
import { MarkedText } from "./marked_text.js";
import { Method } from "./method.js";

const FIRST_STEPS = [
  { id: "sendMessages", title: "Send", text: "A message is on disk when the answer comes." },
  { id: "receiveMessages", title: "Receive", text: "A group leases it: nobody else of the group gets it meanwhile." },
  { id: "acknowledge", title: "Acknowledge", text: "It is done, for this group. The log keeps it for others." },
];

/** @param {{api: import("../model/api_document.js").Api}} props */
export function Overview({ api }) {
  return html`<header class="overview-head">
      <h1 tabindex="-1">${api.title} API <span class="quiet version">${api.version}</span></h1>
      <p class="lead"><${MarkedText} text=${api.text} /></p>
      <p class="quiet">This server is at <code>${ROOT.replace(/\/$/, "")}</code>. Each call can be tried out here, and copied as curl or Python.</p>
    </header>
    <section aria-labelledby="first-steps">
      <h2 id="first-steps">A message's way</h2>
      <ol class="steps">
        ${FIRST_STEPS.filter(({ id }) => api.calls.has(id)).map(
          ({ id, title, text }, index) => html`<li class="card">
            <span class="step-number" aria-hidden="true">${index + 1}</span>
            <h3><a href=${addressOf([id])}>${title}</a></h3>
            <p>${text}</p>
          </li>`,
        )}
      </ol>
    </section>
    ${api.tasks.map((task) => html`<${TaskTable} key=${task.title} task=${task} />`)}`;
}

function TaskTable({ task }) {
  return html`<section class="task">
    <h2><${HostileText} text=${task.title} /></h2>
    <p class="quiet"><${MarkedText} text=${task.text} /></p>
    <ul class="card call-rows">
      ${task.calls.map(
        (call) => html`<li key=${call.id}>
          <a class="call-row" href=${addressOf([call.id])}>
            <${Method} method=${call.method} />
            <code><${HostileText} text=${call.path} /></code>
            <span class="call-summary"><${HostileText} text=${call.summary} /></span>
          </a>
        </li>`,
      )}
    </ul>
  </section>`;
}
