import { AppError } from '../errors.js';

const REASONS: Record<string, string> = {
  EADDRINUSE: 'is in use by another program',
  EACCES: 'is not open to this user',
  EADDRNOTAVAIL: 'is no address of this machine',
  ENOTFOUND: 'is no known host',
};

/** Why the server cannot listen, as what an administrator can change; other errors stay as they are. */
export function listenError(error: unknown, { host, port }: { host: string; port: number }) {
  const reason = REASONS[(error as NodeJS.ErrnoException | undefined)?.code ?? ''];
  if (reason === undefined) return error;
  return new AppError('unavailable', 503, `${host}:${port} ${reason} (HOST, PORT)`, {
    cause: error,
  });
}
