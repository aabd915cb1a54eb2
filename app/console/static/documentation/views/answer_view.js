/** What came back: status, time, headers, body; and of a problem what it means. */

import { html, useMemo } from "../../view.js";
import { bytes } from "../../format/number.js";
import { duration } from "../../format/time.js";
import { Button } from "../../parts/button.js";
import { HostileText } from "../../parts/hostile_text.js";
import { addressOf } from "../../routing/route.js";
import { documentOf, readableAnswer } from "../model/answer_text.js";
import { nextCalls } from "../model/next_calls.js";
import { MarkedText } from "./marked_text.js";
import { StatusBadge } from "./status_badge.js";
import { tokenDialog } from "./token_dialog.js";

const SHOWN_CHARACTERS = 20_000;
const UNAUTHENTICATED = 401;
const FORBIDDEN = 403;

/** @param {{answer: import("../exchange/send_request.js").Answer, api: object, call: object, hasToken: boolean}} props */
export function AnswerView({ answer, api, call, hasToken }) {
  const text = useMemo(() => (answer.bytes === null ? "" : readableAnswer(answer.bytes, answer.mediaType)), [answer]);
  const code = useMemo(() => (answer.bytes === null ? "" : String(documentOf(answer.bytes, answer.mediaType)?.code ?? "")), [answer]);
  return html`<section class="answer" aria-label="Answer">
    <p class="answer-head">
      <${StatusBadge} status=${answer.status} />
      <span>${duration(answer.tookMs)}</span>
      ${answer.bytes !== null && html`<span class="quiet">${bytes(answer.bytes.length)}${answer.isCut ? ", and more that is not read" : ""}</span>`}
    </p>
    ${answer.status >= 400 && html`<${Explained} status=${answer.status} problem=${api.problems.get(code)} call=${call} hasToken=${hasToken} />`}
    <dl class="pairs">
      ${answer.headers.map(([name, value]) => html`<div><dt>${name}</dt><dd><${HostileText} text=${value} lengthMax=${300} /></dd></div>`)}
    </dl>
    ${text && html`<${HostileText} key=${text} text=${text} lengthMax=${SHOWN_CHARACTERS} isBlock=${true} />`}
    ${answer.status < 300 && html`<${Next} id=${call.id} />`}
    ${answer.bytes?.length === 0 && html`<p class="quiet">No body.</p>`}
  </section>`;
}

function Next({ id }) {
  const next = nextCalls(id);
  return next.length > 0 && html`<p class="links">${next.map((each) => html`<a href=${addressOf([each.id])}>${each.text} →</a>`)}</p>`;
}

function Explained({ status, problem, call, hasToken }) {
  return html`<div class="notice warn">
    <div class="notice-text">
      ${problem && html`<p><strong>${problem.title}.</strong> <${MarkedText} text=${problem.remedy} /></p>`}
      ${status === FORBIDDEN && html`<p>This call needs: <${MarkedText} text=${call.rights} />.</p>`}
      ${problem && html`<p class="quiet"><a href=${`docs/errors#${encodeURIComponent(problem.code)}`}>${problem.code}</a></p>`}
    </div>
    ${status === UNAUTHENTICATED && html`<${Button} onClick=${() => tokenDialog.set(true)}>${hasToken ? "Use another token …" : "Use a token …"}<//>`}
  </div>`;
}
