/** What somebody has typed, as a message to send. Pure. */

import { packed } from "./body.js";

const TEXT = "text/plain; charset=utf-8";

/** @typedef {{topic: string, key: string, kind: "json" | "text", body: string, headers: string, tags: string, delaySeconds: string}} Form */

/** By field, what is wrong; nothing where all is right. @param {Form} form @returns {Record<string, string>} */
export function faultsOf(form) {
  const faults = {};
  if (!form.topic.trim()) faults.topic = "Name a topic.";
  if (form.kind === "json") {
    try {
      JSON.parse(form.body);
    } catch (error) {
      faults.body = `This is no JSON: ${error.message}`;
    }
  }
  const wrong = linesOf(form.headers).find((line) => !/^[^:]+:/.test(line));
  if (wrong !== undefined) faults.headers = `A name, a colon and a value: “${wrong.slice(0, 40)}” has no colon.`;
  if (form.delaySeconds && !/^\d+(\.\d+)?$/.test(form.delaySeconds)) faults.delaySeconds = "A number of seconds";
  return faults;
}

/** The request's body as text: JSON that was typed goes as it is, so that its numbers stay what they are.
 * @param {Form} form one without faults */
export function envelopeOf(form) {
  const headers = linesOf(form.headers).map((line) => [line.slice(0, line.indexOf(":")).trim(), line.slice(line.indexOf(":") + 1).trim()]);
  const tags = form.tags.split(",").map((each) => each.trim()).filter(Boolean);
  const fields = { queue: form.topic.trim() };
  if (form.key) fields.key = form.key;
  if (headers.length) fields.headers = Object.fromEntries(headers);
  if (tags.length) fields.tags = tags;
  if (Number(form.delaySeconds) > 0) fields.delaySeconds = Number(form.delaySeconds);
  if (form.kind === "json") return `${JSON.stringify(fields).slice(0, -1)},"body":${form.body}}`;
  return JSON.stringify({ ...fields, bodyBase64: packed(new TextEncoder().encode(form.body)), contentType: TEXT });
}

function linesOf(text) {
  return text.split("\n").filter((line) => line.trim());
}
