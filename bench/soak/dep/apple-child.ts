// The stand-in for DEP in a separate process; apple-process.ts starts it.

import { startDepStandIn } from '../../../src/lab/dep/dep-stand-in.js';
import { createLabAuthority } from '../../../src/lab/pki/lab-authority.js';
import { answerCalls } from '../../push/child-calls.js';
import type { AppleCalls } from './apple-process.js';

/** Not a lab's: the server that is measured has no stand-ins of its own. */
const MARK = 'CK_soak';

async function main(): Promise<void> {
  const apple = await startDepStandIn({ authority: await createLabAuthority(), mark: MARK });
  const { portal } = apple;
  const present = () => portal.server().devices.filter(({ isGone }) => !isGone);
  answerCalls({
    target: () => ({ url: apple.url, ca: apple.caPem }),
    issueToken: (certificate) => portal.issueTokenFile(Buffer.from(certificate)),
    addDevices: (count) => {
      portal.addDevices(undefined, { family: 'Mac', count });
    },
    removeDevices: (count) => {
      const serials = present().map(({ serial }) => serial);
      portal.removeDevices(undefined, serials.slice(0, count));
    },
    count: () => {
      const devices = present();
      const profiles: Record<string, number> = {};
      for (const { profile = '' } of devices) profiles[profile] = (profiles[profile] ?? 0) + 1;
      return { listed: devices.length, profiles };
    },
  } satisfies AppleCalls);
}

main().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
});
