import { AppError, type ErrorCode, type Finding } from '../../errors.js';

/** Collects one finding for each place: the first error there, else the first warning. */
export class Findings {
  readonly #errors = new Map<string, Finding>();
  readonly #warnings = new Map<string, Finding>();

  error(pointer: string, detail: string): void {
    if (!this.#errors.has(pointer)) this.#errors.set(pointer, { pointer, detail });
  }

  warning(pointer: string, detail: string): void {
    if (!this.#warnings.has(pointer)) this.#warnings.set(pointer, { pointer, detail });
  }

  /** As `warning`, beside what was found at that place before. */
  alsoWarning(pointer: string, detail: string): void {
    const known = this.#warnings.get(pointer)?.detail;
    this.#warnings.set(pointer, {
      pointer,
      detail: known === undefined ? detail : `${known}; ${detail}`,
    });
  }

  get errors(): Finding[] {
    return [...this.#errors.values()];
  }

  get warnings(): Finding[] {
    return [...this.#warnings.values()].filter(({ pointer }) => !this.#errors.has(pointer));
  }
}

/** Findings shown of a kind. */
const MAX_SHOWN = 100;

/** The first hundred findings, and one that counts the rest. */
export function shorten(findings: Finding[]): Finding[] {
  const left = findings.length - MAX_SHOWN;
  if (left <= 0) return findings;
  return [...findings.slice(0, MAX_SHOWN), { pointer: '', detail: `and ${left} more` }];
}

/** AppError 422 with all errors, each with its place in the profile. */
export function profileRefusal(errors: Finding[], code: ErrorCode = 'invalid_profile'): AppError {
  const details = shorten(errors).map(({ pointer, detail }) => ({
    detail: pointer === '' ? detail : `${pointer}: ${detail}`,
    source: { pointer },
  }));
  return new AppError(code, 422, details.map(({ detail }) => detail).join('; '), { details });
}
