/** The events of an answer that is a stream of them. */

import { EventParser } from "./event_parser.js";

/** @param {ReadableStream<Uint8Array>} stream of which nobody else reads; it is over when nobody asks for more
 * @returns {AsyncGenerator<import("./event_parser.js").StreamEvent>} */
export async function* eventsOf(stream) {
  const parser = new EventParser();
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* parser.push(value);
    }
  } finally {
    reader.cancel().catch(() => {}); // it is over, one way or the other
  }
}
