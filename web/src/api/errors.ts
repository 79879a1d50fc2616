export interface Fault {
  id?: string;
  status?: string;
  code?: string;
  title?: string;
  detail?: string;
  source?: { pointer?: string; parameter?: string };
  meta?: { confirm?: number };
}

/** What the API refused, with what its error document says. */
export class ApiError extends Error {
  readonly status: number;
  readonly faults: Fault[];

  constructor(status: number, faults: Fault[]) {
    super(faults[0]?.detail ?? faults[0]?.title ?? `The server answered ${status}.`);
    this.status = status;
    this.faults = faults;
  }

  get code(): string | undefined {
    return this.faults[0]?.code;
  }

  get requestId(): string | undefined {
    return this.faults[0]?.id;
  }
}

export function isApiError(error: unknown, code?: string): error is ApiError {
  return error instanceof ApiError && (code === undefined || error.code === code);
}
