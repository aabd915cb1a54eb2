/** What answers and requests have said, for the next call: who has sent a message looks at it, who has received one
 * acknowledges it. Pure. */

/** Names of fields to what they are kept as. */
const KEPT = {
  queue: "topic",
  topic: "topic",
  group: "group",
  namespace: "namespace",
  messageId: "messageId",
  scheduleId: "scheduleId",
  schedule: "schedule",
  jobId: "jobId",
  producer: "producer",
  member: "member",
};
const RECEIPTS_MAX = 100;

/** @typedef {Record<string, unknown>} Memory `receipts` are those of the last receive */

/** With what a call that was good has said. @param {Memory} memory @param {import("./api_document.js").Call} call
 * @param {import("./request_plan.js").Filled} filled @param {unknown} answer JSON, or undefined @returns {Memory} */
export function withCall(memory, call, filled, answer) {
  const sent = Object.fromEntries(call.parameters.map((each) => [each.name, first(filled.parameters[each.id])]));
  return { ...memory, ...kept(sent), ...kept(documentIn(filled.body)), ...kept(answer), ...receiptsIn(answer) };
}

/** The value of a parameter; undefined: none is known. @param {Memory} memory @param {import("./api_document.js").Parameter} parameter */
export function rememberedFor(memory, parameter) {
  return parameter.isRequired || parameter.example !== undefined ? memory[KEPT[parameter.name]] : undefined;
}

/** An example with what is known in the places of its names, ids and receipts. @param {Memory} memory @param {unknown} example */
export function filledIn(memory, example) {
  if (typeof example !== "object" || example === null || Array.isArray(example)) return example;
  const replaced = Object.entries(example).map(([name, value]) => {
    if (name === "receipt" && memory.receipts?.length) return [name, memory.receipts[0]];
    if (name === "receipts" && memory.receipts?.length) return [name, memory.receipts];
    const known = memory[KEPT[name]];
    return [name, typeof value === "string" && known !== undefined ? known : value];
  });
  return Object.fromEntries(replaced);
}

function kept(document) {
  if (typeof document !== "object" || document === null) return {};
  const found = Object.entries(document).filter(([name, value]) => Object.hasOwn(KEPT, name) && typeof value === "string" && value !== "");
  return Object.fromEntries(found.map(([name, value]) => [KEPT[name], value]));
}

function receiptsIn(answer) {
  const messages = Array.isArray(answer?.messages) ? answer.messages : [];
  const receipts = messages.map((each) => each?.receipt).filter((each) => typeof each === "string");
  return receipts.length ? { receipts: receipts.slice(0, RECEIPTS_MAX), ...kept(messages[0]) } : {};
}

function first(text = "") {
  return text.split(",")[0].trim();
}

function documentIn(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
