/** Why a call failed, as the server says it (RFC 9457). */

export class Problem extends Error {
  /** @param {{status?: number, code?: string, title?: string, detail?: string, field?: string, near?: string[]}} said */
  constructor(said) {
    super(said.detail || said.title || "The call failed.");
    this.status = said.status ?? 0;
    this.code = said.code ?? "";
    this.title = said.title ?? "The call failed";
    this.detail = said.detail ?? "";
    this.field = said.field ?? "";
    this.near = Array.isArray(said.near) ? said.near : [];
    this.retryAfterMs = null;
  }

  /** @param {unknown} error */
  static of(error) {
    if (error instanceof Problem) return error;
    return new Problem({ code: "CONSOLE_FAILED", title: "The console failed", detail: String(error) });
  }

  static unreachable() {
    return new Problem({
      code: "UNREACHABLE",
      title: "The server cannot be reached",
      detail: "Is it running? The console tries again by itself.",
    });
  }

  /** @param {Response} answer */
  static async from(answer) {
    let said = {};
    try {
      said = JSON.parse(await answer.text());
    } catch {
      // A proxy on the way answers in its own words.
    }
    const problem = new Problem({ title: `The server answered ${answer.status}`, ...said, status: answer.status });
    const seconds = Number(answer.headers.get("Retry-After") ?? NaN);
    problem.retryAfterMs = Number.isFinite(seconds) ? seconds * 1000 : null;
    return problem;
  }
}
