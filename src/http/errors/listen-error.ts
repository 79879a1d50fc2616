import { createServer } from 'node:net';
import { AppError } from '../../errors.js';

const REASONS: Record<string, string> = {
  EADDRINUSE: 'is in use by another program',
  EACCES: 'is not open to this user',
  EADDRNOTAVAIL: 'is no address of this machine',
  ENOTFOUND: 'is no known host',
};

export interface ListenAddress {
  host: string;
  port: number;
}

/** Why the server cannot listen, as what an administrator can change; other errors stay as they are. */
export function listenError(error: unknown, { host, port }: ListenAddress) {
  const reason = REASONS[(error as NodeJS.ErrnoException | undefined)?.code ?? ''];
  if (reason === undefined) return error;
  return new AppError('unavailable', 503, `${host}:${port} ${reason} (HOST, PORT)`, {
    cause: error,
  });
}

/** Throws what `listen` would, before anything is made for a server that could not be reached. */
export async function requireFreeAddress(address: ListenAddress): Promise<void> {
  const probe = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once('error', reject).listen(address.port, address.host, resolve);
    });
  } catch (error) {
    throw listenError(error, address);
  }
  await new Promise((resolve) => probe.close(resolve));
}
