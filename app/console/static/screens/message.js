/** A message's life: what it is, and what became of it in every group. */

import { html } from "../view.js";
import { getExactly, path } from "../api/server.js";
import { useAnswer } from "../api/use_answer.js";
import { counted } from "../format/number.js";
import { ago, time } from "../format/time.js";
import { Badge } from "../parts/badge.js";
import { Button } from "../parts/button.js";
import { EmptyState } from "../parts/empty_state.js";
import { HostileText } from "../parts/hostile_text.js";
import { MessageContent } from "../parts/message_content.js";
import { ProblemNotice } from "../parts/problem_notice.js";
import { ScreenHead } from "../parts/screen_head.js";
import { Waiting } from "../parts/waiting.js";
import { addressOf } from "../routing/route.js";

/** State to what it is called, how it looks, and what it means. */
const STATES = {
  waiting: ["waiting", "plain", "The next receive may get it."],
  waitingForGrowth: ["waiting for growth", "plain", "The topic has grown: what was before it has to be done first."],
  delayed: ["delayed", "warn", "It is given out again later."],
  leased: ["leased", "warn", "A consumer has it."],
  deadLettering: ["becoming a dead letter", "warn", "Its attempts are used up; it is on its way to the dead-letter topic."],
  blocked: ["blocked", "bad", "It failed too often and holds up what is behind it until somebody releases or skips it."],
  done: ["done", "good", "It was acknowledged."],
  deadLettered: ["dead letter", "bad", "It failed too often and is in the dead-letter topic."],
  passedOver: ["passed over", "plain", "The group's filter does not want it."],
  expired: ["expired", "plain", "Its time to live was over before it was done."],
};

function MessageView({ names }) {
  const { answer, problem, again, isWaiting } = useAnswer((signal) => getExactly(path`messages/${names.message}`, {}, signal), [names.message]);
  const trail = answer
    ? [
        { text: "Topics", href: addressOf(["topics"]) },
        { text: answer.queue, href: addressOf(["topics", answer.queue]) },
        { text: "Messages", href: addressOf(["topics", answer.queue, "messages"], { partition: answer.partition, from: "offset", at: answer.offset }) },
      ]
    : [];
  return html`<${ScreenHead} title=${answer ? `Message ${answer.offset} of partition ${answer.partition}` : "Message"} trail=${trail}>
      <${Button} onClick=${again}>Look again<//>
    <//>
    <${ProblemNotice} problem=${problem} onAgain=${again} />
    ${isWaiting && html`<${Waiting} />`}
    ${answer && html`<div class="cards"><${Lives} groups=${answer.groups} /><${MessageContent} message=${answer} /></div>`}`;
}

function Lives({ groups }) {
  return html`<section class="card" aria-label="Its life in every group">
    <h2>Its life in every group</h2>
    ${groups.length === 0 && html`<${EmptyState} title="No group has begun to read this topic">A group shows here once it has received from it.<//>`}
    <ul class="lives">${groups.map((each) => html`<${Life} key=${each.group} life=${each} />`)}</ul>
  </section>`;
}

function Life({ life }) {
  const [said, kind, meaning] = STATES[life.state] ?? [life.state, "plain", ""];
  return html`<li class="life">
    <div class="life-head">
      <a href=${addressOf(["groups", life.group])}><${HostileText} text=${life.group} lengthMax=${80} /></a>
      <${Badge} kind=${kind}>${said}<//>
      ${life.attempts > 0 && html`<span class="quiet">${counted(life.attempts, "attempt")}</span>`}
    </div>
    <p class="quiet">
      ${meaning} ${life.until !== undefined && html`Until ${time(life.until)} (${ago(life.until)}). `}
      ${life.consumer && html`Its consumer is <${HostileText} text=${life.consumer} lengthMax=${80} />. `}
      ${life.lastConsumer && html`The last consumer was <${HostileText} text=${life.lastConsumer} lengthMax=${80} />. `}
      ${life.limit && html`It waits for the limit ${life.limit}. `}
      ${life.behindUnreadable !== undefined && html`It is behind message ${life.behindUnreadable}, which cannot be read. `}
    </p>
    ${(life.reasons ?? []).length > 0 &&
    html`<ol class="reasons">${life.reasons.map((each) => html`<li><span class="quiet">Attempt ${each.attempt}, ${time(each.at)}:</span> <${HostileText} text=${each.reason} lengthMax=${300} /></li>`)}</ol>`}
  </li>`;
}

/** @type {import("../routing/matching.js").Screen} */
export const message = { pattern: "messages/:message", title: "Message", under: "topics", View: MessageView };
