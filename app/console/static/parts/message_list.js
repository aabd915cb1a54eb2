/** Messages in a table: enough of each to know it by. */

import { html } from "../view.js";
import { preview } from "../format/body.js";
import { count } from "../format/number.js";
import { time } from "../format/time.js";
import { addressOf } from "../routing/route.js";
import { Badge } from "./badge.js";
import { HostileText } from "./hostile_text.js";
import { Table } from "./table.js";

const TAGS_SHOWN = 3;
const COLUMNS = [
  { title: "Stored", isMain: true, of: (message) => html`<a class="when" href=${addressOf(["messages", message.messageId])}>${time(message.appendTime)}</a>` },
  { title: "Partition", isNumber: true, of: (message) => count(message.partition) },
  { title: "Offset", isNumber: true, of: (message) => count(message.offset) },
  { title: "Key", of: (message) => message.key && html`<${HostileText} text=${cut(message.key, 60)} />` },
  { title: "Body", isRest: true, of: (message) => html`<span class="preview mono"><${HostileText} text=${preview(message)} /></span>` },
  { title: "Tags", of: (message) => message.tags && html`<span class="badges">${(message.tags ?? []).slice(0, TAGS_SHOWN).map((tag) => html`<${Badge}><${HostileText} text=${cut(tag, 24)} /><//>`)}</span>` },
];

/** @param {{messages: object[], caption: string, pageSize?: number}} props */
export function MessageList({ messages, caption, pageSize = 1_000 }) {
  return html`<div class="messages">
    <${Table} caption=${caption} columns=${COLUMNS} rows=${messages} keyOf=${(message) => message.messageId} pageSize=${pageSize} />
  </div>`;
}

function cut(text, lengthMax) {
  return text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text;
}
