import { AppError } from '../../errors.js';

/** 400 that names the query parameter at fault. */
export function invalidParameter(parameter: string, message: string): AppError {
  return new AppError('invalid_parameter', 400, message, { source: { parameter } });
}
