/** What is filled in when somebody comes to a call: its examples, with what is known by now. Pure. */

import { prettyJson } from "../../api/exact_json.js";
import { filledIn, rememberedFor } from "./remembered.js";

/** @param {import("./api_document.js").Call} call @param {import("./remembered.js").Memory} memory
 * @returns {import("./request_plan.js").Filled} */
export function filledFor(call, memory) {
  const parameters = call.parameters.map((each) => [each.id, textOf(rememberedFor(memory, each) ?? each.example)]);
  const [body] = call.bodies;
  return {
    parameters: Object.fromEntries(parameters),
    mediaType: body?.mediaType ?? "",
    body: body ? exampleText(body.examples[0], memory) : "",
    file: null,
    answerType: call.answerTypes[0] ?? "",
  };
}

/** @param {{value: unknown} | undefined} example @param {import("./remembered.js").Memory} memory */
export function exampleText(example, memory) {
  if (example === undefined) return "";
  return typeof example.value === "string" ? example.value : prettyJson(filledIn(memory, example.value));
}

function textOf(value) {
  if (value === undefined || value === null) return "";
  return Array.isArray(value) ? value.join(",") : String(value);
}
