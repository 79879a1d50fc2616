import type { SecretBox } from '../crypto/secret-box.js';
import type { Database } from '../db/database.js';
import type { JobQueue, Task } from '../jobs/task.js';
import type { Logger } from '../logger.js';
import { ProgramJobs } from './program-jobs.js';

export interface ProgramDeps {
  db: Database;
  box: SecretBox;
  logger: Logger;
  jobs: JobQueue;
  /** Origin of Apple's service, or of the lab's stand-in. */
  host: string;
  /** PEM of the CAs to believe for it; undefined: those Node knows. */
  ca: string | undefined;
  /** Tokens of the lab's are used only while it is on, and then only they. */
  isLabOn: boolean;
  /** What devices are told; without a slash at its end. */
  publicUrl: string;
  /** Milliseconds between two syncs of an account; undefined: only when asked for. */
  syncInterval: number | undefined;
  /** DER of what devices are to trust this server by. */
  anchorCertificates(): Promise<Buffer[]>;
}

/** What this server does with Apple's service of the device enrollment program. */
export interface Program {
  jobs: ProgramJobs;
  tasks: Task[];
  close(): Promise<void>;
}

export function createProgram(deps: ProgramDeps): Program {
  const jobs = new ProgramJobs(deps.jobs);
  return {
    jobs,
    tasks: [],
    close: () => Promise.resolve(),
  };
}
