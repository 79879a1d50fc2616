/** How often each path was answered with each status. */
export type RequestReport = Record<string, Record<string, number>>;

export class RequestCounts {
  #counts: RequestReport = {};

  /** `status` 0: the connection was cut. */
  note(method: string, path: string, status: number): void {
    const key = `${method} ${path}`;
    const ofPath = this.#counts[key] ?? {};
    ofPath[status] = (ofPath[status] ?? 0) + 1;
    this.#counts[key] = ofPath;
  }

  report(): RequestReport {
    return structuredClone(this.#counts);
  }

  reset(): void {
    this.#counts = {};
  }
}
