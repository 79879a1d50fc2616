import { AppError, type ErrorSource } from '../../errors.js';

/** A pointer into a JSON:API document as one into the flat object that was sent in its place. */
function flatPointer(pointer: string): string {
  return pointer.replace(/^\/data(\/attributes)?(?=\/|$)/, '');
}

function flatSource({ pointer, ...source }: ErrorSource): ErrorSource {
  return pointer === undefined ? source : { ...source, pointer: flatPointer(pointer) };
}

/** Faults of a document told for the flat object that the client sent; other values unchanged. */
export function inFlatBody(error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const { code, status, message, source, headers, cause } = error;
  const details = error.details.map(({ source: at, ...fault }) => ({
    ...fault,
    ...(at ? { source: flatSource(at) } : {}),
  }));
  const place = source ? { source: flatSource(source) } : {};
  return new AppError(code, status, message, { ...place, details, headers, cause });
}

/** JSON pointer (RFC 6901) of the given steps. */
export function pointer(...steps: (string | number)[]): string {
  return steps.map((step) => `/${escaped(String(step))}`).join('');
}

function escaped(step: string): string {
  return step.replaceAll('~', '~0').replaceAll('/', '~1');
}
