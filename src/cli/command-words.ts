import { AppError } from '../errors.js';

/** What the API advises, as the commands that do the same. */
export function asCommands(text: string): string {
  return text
    .replaceAll('?force=true', '--force')
    .replaceAll('POST it to /api/v1/push_certificates', 'import it by muster push-cert import')
    .replaceAll('DELETE /api/v1/', 'muster api DELETE /');
}

/** For `catch`. */
export function inWordsOfTheCommand(error: unknown): never {
  if (!(error instanceof AppError)) throw error;
  throw new AppError(error.code, error.status, asCommands(error.message), { cause: error });
}
