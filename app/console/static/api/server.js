/** Calls to the server that the console came from. */

import { parseExactly } from "./exact_json.js";
import { Problem } from "./problem.js";
import { askToSignIn, session } from "./session.js";

/** The API's root: the page's folder, as a proxy may serve all of it under a prefix. */
const ROOT = new URL(".", document.baseURI);
const NEEDS_TOKEN = new Set(["UNAUTHENTICATED", "TOKEN_EXPIRED"]);

/** A path of the API; values are packed so that a slash stays part of a name.
 * @param {TemplateStringsArray} texts @param {...(string | number)} values */
export function path(texts, ...values) {
  return texts.reduce((all, text, index) => all + encodeURIComponent(String(values[index - 1])) + text);
}

/**
 * @param {string} method
 * @param {string} where a `path`, without the first slash
 * @param {{query?: Record<string, unknown>, body?: unknown, signal?: AbortSignal, headers?: Record<string, string>}} [asked]
 * @returns {Promise<Response>} Raises Problem.
 */
export async function request(method, where, { query = {}, body, signal, headers = {} } = {}) {
  const url = new URL(where, ROOT);
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "") continue;
    for (const each of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(each));
  }
  const { token, signInReason } = session.value;
  // A view that is about to go asks again when its token has gone: that is nothing to tell anybody.
  if (signInReason !== null) throw new Problem({ status: 401, title: "Nobody is signed in" });
  const sent = { ...headers };
  if (token) sent.Authorization = `Bearer ${token}`;
  if (body !== undefined) sent["Content-Type"] = "application/json";
  const answer = await fetchOrProblem(url, { method, headers: sent, body: textOf(body), signal, cache: "no-store" });
  if (answer.ok) return answer;
  const problem = await Problem.from(answer);
  // A call that was under way when somebody signed in says nothing of the token that is there now.
  if (NEEDS_TOKEN.has(problem.code) && session.value.token === token) askToSignIn(reasonOf(problem, token));
  throw problem;
}

/** What a GET answers. @param {string} where @param {Record<string, unknown>} [query] @param {AbortSignal} [signal] */
export async function get(where, query, signal) {
  return documentOf(await request("GET", where, { query, signal }), JSON.parse);
}

/** The same for answers with bodies of messages, whose numbers stay what they are; they may be no numbers of
 * JavaScript's then. */
export async function getExactly(where, query, signal) {
  return documentOf(await request("GET", where, { query, signal }), parseExactly);
}

/** What a call that changes something answers.
 * @param {string} method @param {string} where @param {unknown} [body] @param {Record<string, unknown>} [query] */
export async function change(method, where, body, query) {
  return documentOf(await request(method, where, { body, query }), JSON.parse);
}

async function documentOf(answer, parse) {
  const text = await answer.text();
  if (!text) return null;
  const isJson = (answer.headers.get("Content-Type") ?? "").includes("json");
  return isJson ? parse(text) : text;
}

async function fetchOrProblem(url, options) {
  try {
    return await fetch(url, options);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw Problem.unreachable();
  }
}

function textOf(body) {
  if (body === undefined || typeof body === "string") return body;
  return JSON.stringify(body);
}

function reasonOf(problem, token) {
  if (!token) return "This server asks for a token.";
  return problem.code === "TOKEN_EXPIRED" ? "Your token has expired." : "The server does not know this token.";
}
