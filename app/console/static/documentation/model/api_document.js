/** The server's OpenAPI document as the page shows it: calls by what somebody wants to do. Pure. */

const PROBLEM = "application/problem+json";
const EVENT_STREAM = "text/event-stream";

/**
 * @typedef {{id: string, name: string, place: "path" | "query" | "header", isRequired: boolean, text: string, schema: object, example: unknown}} Parameter
 * @typedef {{mediaType: string, schema: object, examples: {name: string, value: unknown}[]}} Content
 * @typedef {{code: string, status: number, title: string, remedy: string, isRetriable: boolean}} ApiProblem
 * @typedef {{status: string, text: string, contents: Content[]}} ApiAnswer
 * @typedef {object} Call
 * @property {string} id
 * @property {string} method
 * @property {string} path with `{name}` for each parameter in it
 * @property {string} summary
 * @property {string} rights that it needs
 * @property {boolean} isOpen no token is needed
 * @property {Parameter[]} parameters
 * @property {Content[]} bodies
 * @property {boolean} isBodyRequired
 * @property {ApiAnswer[]} answers
 * @property {ApiProblem[]} problems
 * @property {string[]} answerTypes of an answer that is good
 * @property {boolean} isStream
 * @typedef {{title: string, text: string, calls: Call[]}} Task
 * @typedef {{title: string, version: string, text: string, tasks: Task[], calls: Map<string, Call>, problems: Map<string, ApiProblem>, schemas: Record<string, object>}} Api
 */

/** @param {object} document @returns {Api} Calls that no task names are in a last one. */
export function apiOf(document) {
  const problems = new Map(Object.entries(document.components.examples).map(([code, said]) => [code, problemOf(code, said)]));
  const calls = new Map();
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, described] of Object.entries(methods)) {
      const responses = resolved(described.responses, document.components.responses ?? {});
      calls.set(described.operationId, callOf(path, method, { ...described, responses }, problems));
    }
  }
  return { ...document.info, text: document.info.description, tasks: tasksOf(document, calls), calls, problems, schemas: document.components.schemas };
}

function tasksOf(document, calls) {
  const tasks = (document["x-tasks"] ?? []).map(({ title, description, operations }) => ({
    title,
    text: description,
    calls: operations.map((id) => calls.get(id)).filter(Boolean),
  }));
  const named = new Set(tasks.flatMap((task) => task.calls));
  const others = [...calls.values()].filter((call) => !named.has(call));
  return others.length ? [...tasks, { title: "Others", text: "", calls: others }] : tasks;
}

/** Calls that can fail in the same ways share what is said of it. */
function resolved(responses, shared) {
  return Object.fromEntries(Object.entries(responses).map(([status, each]) => [status, each.$ref ? shared[each.$ref.split("/").at(-1)] : each]));
}

function callOf(path, method, described, problems) {
  const answers = answersOf(described.responses);
  const answerTypes = [...new Set(answers.flatMap((each) => each.contents.map(({ mediaType }) => mediaType)))];
  return {
    id: described.operationId,
    method: method.toUpperCase(),
    path,
    summary: described.summary,
    rights: described["x-rights"] ?? "",
    isOpen: (described.security ?? []).length === 0,
    parameters: (described.parameters ?? []).map(parameterOf),
    bodies: contentsOf(described.requestBody?.content),
    isBodyRequired: described.requestBody?.required ?? false,
    answers,
    problems: problemsOf(described.responses, problems),
    answerTypes,
    isStream: answerTypes.includes(EVENT_STREAM),
  };
}

function parameterOf({ name, in: place, required, description, schema, example }) {
  const text = description ?? schema.description ?? "";
  return { id: `${place}.${name}`, name, place, isRequired: Boolean(required), text, schema, example };
}

function contentsOf(content = {}) {
  return Object.entries(content).map(([mediaType, { schema, examples = {} }]) => ({
    mediaType,
    schema: schema ?? {},
    examples: Object.entries(examples).map(([name, { value }]) => ({ name, value })),
  }));
}

function answersOf(responses) {
  return Object.entries(responses)
    .filter(([, { content }]) => !(PROBLEM in (content ?? {})))
    .map(([status, { description, content }]) => ({ status, text: description, contents: contentsOf(content) }));
}

function problemsOf(responses, known) {
  return Object.values(responses).flatMap(({ content }) =>
    Object.keys(content?.[PROBLEM]?.examples ?? {}).map((code) => known.get(code) ?? problemOf(code, {})),
  );
}

function problemOf(code, { summary = code, description = "", value = {} }) {
  return { code, status: value.status ?? 0, title: summary, remedy: description, isRetriable: Boolean(value.retriable) };
}
