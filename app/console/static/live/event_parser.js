/** Server-sent events out of the pieces in which their text arrives. Pure. */

/** @typedef {{type: string, id: string, data: string}} StreamEvent */

export class EventParser {
  constructor() {
    this.rest = "";
    this.type = "";
    this.id = "";
    this.data = [];
  }

  /** The events that are whole by now. @param {string} text @returns {StreamEvent[]} */
  push(text) {
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop();
    return lines.flatMap((line) => this.take(line.endsWith("\r") ? line.slice(0, -1) : line));
  }

  take(line) {
    if (line === "") return this.end();
    const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line);
    if (name === "data") this.data.push(value);
    else if (name === "event") this.type = value;
    else if (name === "id") this.id = value;
    return [];
  }

  end() {
    const event = { type: this.type || "message", id: this.id, data: this.data.join("\n") };
    const isOne = this.data.length > 0;
    this.type = "";
    this.data = [];
    return isOne ? [event] : [];
  }
}
