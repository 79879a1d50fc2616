import { AppError, type ErrorCode, type ErrorDetail } from '../errors.js';

/** An error on its way between threads, which keep no classes. */
export interface SentError {
  message: string;
  stack: string | undefined;
  app: { code: ErrorCode; status: number; details: ErrorDetail[] } | undefined;
}

export function writeError(error: unknown): SentError {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  if (!(error instanceof AppError)) return { message, stack, app: undefined };
  const { code, status, details } = error;
  return { message, stack, app: { code, status, details } };
}

export function readError({ message, stack, app }: SentError): Error {
  if (app !== undefined) {
    return new AppError(app.code, app.status, message, { details: app.details });
  }
  const error = new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}
