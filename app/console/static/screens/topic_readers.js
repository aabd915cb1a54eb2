/** The groups that read a topic. */

import { html } from "../view.js";
import { get, path } from "../api/server.js";
import { useAnswer } from "../api/use_answer.js";
import { HostileText } from "../parts/hostile_text.js";
import { addressOf } from "../routing/route.js";

/** Every group that has begun to read a topic is in its first partition. @param {{topic: string}} props */
export function TopicReaders({ topic }) {
  const { answer, problem } = useAnswer((signal) => get(path`topics/${topic}/partitions/0`, {}, signal), [topic]);
  if (problem || !answer) return null;
  return html`<section class="card" aria-label="Groups">
    <h2>Groups that read it</h2>
    ${answer.groups.length === 0 && html`<p class="quiet">None has begun to. A group is made by its first receive, where the server allows that.</p>`}
    <ul class="links">${answer.groups.map(({ group }) => html`<li key=${group}><a href=${addressOf(["groups", group])}><${HostileText} text=${group} lengthMax=${80} /></a></li>`)}</ul>
  </section>`;
}
