import { join } from 'node:path';
import { startCallableChild } from '../../push/child-calls.js';

export interface AppleTarget {
  url: string;
  /** PEM. */
  ca: string;
}

/** What Apple has of the server's devices. */
export interface AppleCount {
  /** That it lists. */
  listed: number;
  /** By the profile they are to use, as its UUID stands there; none of them: ''. */
  profiles: Record<string, number>;
}

export interface AppleCalls {
  target(): AppleTarget;
  /** PEM of the certificate; the file that the portal returns for it. */
  issueToken(certificate: string): Buffer;
  addDevices(count: number): void;
  /** Removes the first `count` devices. */
  removeDevices(count: number): void;
  count(): AppleCount;
}

export interface AppleProcess {
  pid: number;
  target: AppleTarget;
  issueToken(certificate: string): Promise<Buffer>;
  addDevices(count: number): Promise<void>;
  removeDevices(count: number): Promise<void>;
  count(): Promise<AppleCount>;
  stop(): Promise<void>;
}

/** The stand-in for DEP in a separate process. */
export async function startApple(): Promise<AppleProcess> {
  const child = await startCallableChild<AppleCalls>(join(__dirname, 'apple-child.ts'));
  return {
    pid: child.pid,
    target: await child.call('target', undefined),
    issueToken: async (certificate) => Buffer.from(await child.call('issueToken', certificate)),
    addDevices: (count) => child.call('addDevices', count),
    removeDevices: (count) => child.call('removeDevices', count),
    count: () => child.call('count', undefined),
    stop: () => child.kill('SIGTERM'),
  };
}
