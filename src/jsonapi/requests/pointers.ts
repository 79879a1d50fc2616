import { AppError, type ErrorDetail, type ErrorSource } from '../../errors.js';

/** JSON pointer (RFC 6901) of the given steps. */
export function pointer(...steps: (string | number)[]): string {
  return steps.map((step) => `/${escaped(String(step))}`).join('');
}

function escaped(step: string): string {
  return step.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Moves the pointers of an error from a document to the flat object sent in its place. */
export function inFlatBody(error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const { code, status, message, source, headers, cause } = error;
  const details = error.details.map(
    (fault): ErrorDetail => (fault.source ? { ...fault, source: flatSource(fault.source) } : fault),
  );
  const place = source && { source: flatSource(source) };
  return new AppError(code, status, message, { ...place, details, headers, cause });
}

function flatSource({ pointer, ...source }: ErrorSource): ErrorSource {
  return pointer === undefined ? source : { ...source, pointer: flatPointer(pointer) };
}

function flatPointer(pointer: string): string {
  return pointer.replace(/^\/data(\/attributes)?(?=\/|$)/, '');
}
