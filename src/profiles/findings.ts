import { AppError, type ErrorCode } from '../errors.js';

/** Something found in a profile. */
export interface Finding {
  /** JSON pointer into the profile's property list. */
  pointer: string;
  detail: string;
}

/** What is found, one for each place: the first error there, else the first warning. */
export class Findings {
  readonly #errors = new Map<string, Finding>();
  readonly #warnings = new Map<string, Finding>();

  error(pointer: string, detail: string): void {
    if (!this.#errors.has(pointer)) this.#errors.set(pointer, { pointer, detail });
  }

  warning(pointer: string, detail: string): void {
    if (!this.#warnings.has(pointer)) this.#warnings.set(pointer, { pointer, detail });
  }

  get errors(): Finding[] {
    return [...this.#errors.values()];
  }

  get warnings(): Finding[] {
    return [...this.#warnings.values()].filter(({ pointer }) => !this.#errors.has(pointer));
  }
}

/** More than this of a kind help nobody. */
const MOST = 100;

/** As many as are worth telling, and how many there are beyond. */
export function worthTelling(findings: Finding[]): Finding[] {
  const left = findings.length - MOST;
  if (left <= 0) return findings;
  return [...findings.slice(0, MOST), { pointer: '', detail: `and ${left} more` }];
}

/** All errors at once, each with its place in the profile. */
export function profileRefusal(errors: Finding[], code: ErrorCode = 'invalid_profile'): AppError {
  const details = worthTelling(errors).map(({ pointer, detail }) => ({
    detail: pointer === '' ? detail : `${pointer}: ${detail}`,
    source: { pointer },
  }));
  return new AppError(code, 422, details.map(({ detail }) => detail).join('; '), { details });
}
