/** A request that somebody tries out, and what comes of it. Whatever it is, it is shown: nobody is signed out by it. */

/** So much of an answer is read and shown. */
export const ANSWER_BYTES_MAX = 2 * 1024 * 1024;

/** Headers of an answer that say something about it; all others are the connection's. */
const SHOWN_HEADERS = ["content-type", "retry-after", "location", "allow", "www-authenticate", "etag", "warning", "traceparent"];

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {[string, string][]} headers
 * @property {string} mediaType
 * @property {number} tookMs until it had come whole; of a stream, until it began
 * @property {Uint8Array | null} bytes of a stream null
 * @property {boolean} isCut there was more
 */

/** @param {import("../model/request_plan.js").Plan} plan
 * @param {{token: string | null, signal: AbortSignal}} about @returns {Promise<{answer: Answer, stream: ReadableStream | null}>}
 *  Raises TypeError where the server cannot be reached, and AbortError. */
export async function sendRequest(plan, { token, signal }) {
  const headers = [...plan.headers, ...(token ? [["Authorization", `Bearer ${token}`]] : [])];
  const begun = performance.now();
  const found = await fetch(plan.url, { method: plan.method, headers, body: plan.body ?? undefined, signal, cache: "no-store", credentials: "omit" });
  const mediaType = found.headers.get("content-type") ?? "";
  const isStream = found.ok && mediaType.startsWith("text/event-stream") && found.body !== null;
  const { bytes, isCut } = isStream ? { bytes: null, isCut: false } : await limited(found.body);
  const shown = SHOWN_HEADERS.filter((name) => found.headers.has(name)).map((name) => [name, found.headers.get(name)]);
  return {
    answer: { status: found.status, headers: shown, mediaType, tookMs: performance.now() - begun, bytes, isCut },
    stream: isStream ? found.body : null,
  };
}

async function limited(stream) {
  if (stream === null) return { bytes: new Uint8Array(), isCut: false };
  const reader = stream.getReader();
  const pieces = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { bytes: joined(pieces, size), isCut: false };
    pieces.push(value);
    size += value.length;
    if (size > ANSWER_BYTES_MAX) {
      reader.cancel().catch(() => {}); // the rest is for nobody
      return { bytes: joined(pieces, size).subarray(0, ANSWER_BYTES_MAX), isCut: true };
    }
  }
}

function joined(pieces, size) {
  const all = new Uint8Array(size);
  let at = 0;
  for (const each of pieces) {
    all.set(each, at);
    at += each.length;
  }
  return all;
}
