import type { PresentInThread } from '../commands/command-administration.js';
import type { ProfileRendererDeps } from '../commands/rendered-profile.js';
import type { ReportWorkerDeps } from '../commands/reports/report-worker.js';
import type { Logger } from '../logger.js';
import { MessageReader } from '../mdm/message-reader.js';
import type { MdmServices } from '../mdm/services.js';
import type { ProfileImportDeps } from '../profiles/profile-import.js';
import type { ProfileRebuildDeps } from '../profiles/profile-rebuild.js';
import type { ThreadPool } from './thread-pool.js';
import { fromThread, ownMemory } from './thread-values.js';

/** Reads large messages of devices. */
export function messageThreads(
  threads: ThreadPool,
  logger: Logger,
): Pick<MdmServices, 'messages' | 'readStatusInThread'> {
  return {
    messages: new MessageReader({
      logger,
      readInThread: async (raw, owner) => {
        const own = ownMemory(raw);
        const options = { owner, transfer: [own.buffer] };
        const { output, ms } = await threads.run('readMessage', own, options);
        return { output: fromThread(output), ms };
      },
    }),
    readStatusInThread: async (data) => (await threads.run('readStatusReport', data)).output,
  };
}

/** Reads large stored reports. */
export function reportThreads(threads: ThreadPool): Pick<ReportWorkerDeps, 'readInThread'> {
  return {
    readInThread: async ({ requestType, bytes }) => {
      const own = ownMemory(bytes);
      const input = { requestType, bytes: own };
      const { output } = await threads.run('readReport', input, { transfer: [own.buffer] });
      return fromThread(output);
    },
  };
}

/** Checks, joins and compares large configuration profiles. */
export function profileThreads(
  threads: ThreadPool,
): Required<
  Pick<ProfileImportDeps, 'checkInThread'> &
    Pick<ProfileRebuildDeps, 'joinInThread' | 'diffInThread'>
> {
  return {
    checkInThread: async (file) => fromThread((await threads.run('checkProfile', file)).output),
    diffInThread: async (versions) => (await threads.run('diffProfiles', versions)).output,
    joinInThread: async (parts) => fromThread((await threads.run('joinProfile', parts)).output),
  };
}

/** Renders large profiles with the values of a device. */
export function renderThreads(
  threads: ThreadPool,
): Pick<ProfileRendererDeps, 'renderInThread' | 'buildInThread'> {
  return {
    buildInThread: async ({ uuid, profile }) => {
      const own = ownMemory(profile);
      const options = { transfer: [own.buffer] };
      const { output } = await threads.run('installCommand', { uuid, profile: own }, options);
      return fromThread(output);
    },
    renderInThread: async (profile) => {
      const plist = ownMemory(profile.plist);
      const options = { transfer: [plist.buffer] };
      const { output } = await threads.run('renderProfile', { ...profile, plist }, options);
      return fromThread(output);
    },
  };
}

/** Writes large results of commands as JSON. */
export function resultThreads(threads: ThreadPool): { presentInThread: PresentInThread } {
  return {
    presentInThread: async (result) => (await threads.run('presentResult', result)).output,
  };
}
